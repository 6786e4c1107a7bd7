/** Words of the panel. */

const TOOLSETS: Record<string, string> = {
  chat: "Chat",
  files: "Files",
  terminal: "Terminal",
  browser: "Browser",
  full: "All tools",
};

function counted(n: number, one: string, many: string): string {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

export const panel = {
  name: "Session panel",
  tabs: {
    files: "Files",
    processes: "Processes",
    browser: "Browser",
    memory: "Memory",
    info: "Info",
  },
  /** A toolset by its name; one that nobody knows keeps it. */
  toolsets: (name: string): string => TOOLSETS[name] ?? name,
  files: {
    path: "Folder",
    workspace: "Workspace",
    refresh: "Look again",
    empty: "No files yet",
    emptyDetail: "What the agent writes shows up here. Files stay until the session is deleted.",
    emptyFolder: "This folder is empty",
    emptyFile: "This file is empty.",
    more: "There are more files than are listed here. The agent can list the rest.",
    download: "Download",
    tooLarge: "Too large to show here",
    tooLargeDetail: "Download it to look at it.",
    noPreview: "No preview",
    noPreviewDetail: "This is neither text nor a picture. Download it to look at it.",
  },
  processes: {
    empty: "Nothing runs in the background",
    emptyDetail: "Servers and long commands that the agent starts show up here.",
    state: (status: number | null, isRunning: boolean): string => {
      if (isRunning) return "Running";
      return status === 0 ? "Ended" : `Ended with ${status ?? "a signal"}`;
    },
    stop: "Stop",
    output: "Last output",
    silent: "No output so far.",
    workspace: (shell: boolean, directory: string): string =>
      shell ? `A shell is open in ${directory}.` : "No shell is open.",
    endAll: "Stop everything",
    endAllDetail:
      "This ends the session's shell, its processes and its browser tabs, at once. Variables and " +
      "unsaved work in them are lost. Files stay, and the conversation can go on.",
    allEnded: "Everything is stopped. The files are still there.",
  },
  browser: {
    empty: "No page is open",
    emptyDetail: "When the agent uses its browser, you see here what it sees.",
    picture: (title: string): string => `What the agent sees: ${title}`,
    others: "Other tabs",
    untitled: "Page without a title",
  },
  memory: {
    off: "Memory is off",
    offDetail: "This server remembers nothing between sessions.",
    uncommitted: "Something was said that memory has not taken yet.",
    committed: "Memory has everything that was said.",
    commit: "Remember now",
    outcomes: {
      committed: (turns: number): string => `Memory has taken ${counted(turns, "turn", "turns")}.`,
      nothing: (): string => "There was nothing new to remember.",
      failed: (_: number, detail: string): string =>
        `Memory could not take it; it is tried again. ${detail}`,
    },
    elsewhere: (provider: string): string =>
      `${provider} remembers for this server. Look there to read or change what it knows.`,
    search: "Search all memories",
    found: "Found in all sessions",
    nothingFound: "No memory has these words.",
    here: "Learned in this session",
    emptyDetail: "Nothing yet. Memories come when a session rests, or when you say “remember”.",
    kinds: { fact: "Fact", preference: "Preference", instruction: "Instruction", event: "Event" },
    trust: (share: string): string => `Trust ${share}`,
    source: "Session",
    helpful: "Of use",
    unhelpful: "Of no use",
    text: "Memory",
    forget: "Forget",
    forgotten: "Forgotten.",
    saved: "Saved",
    more: "Show more",
  },
  info: {
    about: "About this session",
    model: "Model",
    toolset: "Tools",
    effort: "Effort",
    project: "Project",
    created: "Created",
    active: "Last active",
    said: "Length",
    none: "None",
    standard: "Auto",
    efforts: { off: "Off", low: "Low", medium: "Medium", high: "High" },
    counted: (messages: number, turns: number): string =>
      `${counted(messages, "message", "messages")} in ${counted(turns, "turn", "turns")}`,
    context: "Context",
    contextUnknown: "Known once the model has answered.",
    filled: (used: string, window: string, share: string): string =>
      `${used} of ${window} tokens, ${share}`,
    tokens: (tokens: string): string => `${tokens} tokens`,
    usage: "Tokens and cost",
    read: "Read",
    written: "Written",
    cost: "Cost",
    unknown: "Unknown",
    unused: "No model was asked yet.",
    cached: (share: string): string => `${share} of what was read came from the cache.`,
    unpriced: (calls: number): string =>
      `The price of ${counted(calls, "call", "calls")} is not known.`,
    branchOf: "Branch of",
    subagentOf: "Works for",
    parent: "Another session",
    subagents: "Subagents",
    states: { idle: "Idle", queued: "Waiting its turn", running: "Working", waiting: "Asks you" },
    instructions: "Instructions",
  },
  rewrites: {
    title: "Rewrites of the history",
    kinds: {
      undo: "Undone",
      edit: "Edited and sent again",
      clear: "Cleared",
      compaction: "Compacted",
      restore: "Restored",
    },
    takenBack: "(taken back)",
    gained: (before: number, after: number): string =>
      `${before.toLocaleString()} tokens became ${after.toLocaleString()}.`,
    show: "Show what it replaced",
    hide: "Hide",
    restore: "Restore",
    nothing: "It replaced nothing that can be shown.",
    roles: { user: "You", assistant: "Agent", tool: "Tool", note: "Roost" },
    called: (tool: string): string => `Called ${tool}`,
    picture: "A picture",
  },
  export: {
    title: "Export",
    markdown: "As Markdown",
    json: "All of it, as JSON",
  },
};
