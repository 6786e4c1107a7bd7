/** Words that are used everywhere. */
export const common = {
  roost: "Roost",
  cancel: "Cancel",
  close: "Close",
  save: "Save",
  edit: "Edit",
  remove: "Remove",
  undo: "Undo",
  retry: "Retry",
  copy: "Copy",
  copied: "Copied",
  done: "Done",
  back: "Back",
  loading: "Loading",
  untitled: "New chat",
  toolsets: {
    chat: "Chat",
    files: "Files",
    terminal: "Terminal",
    browser: "Browser",
    full: "All tools",
  },
};
