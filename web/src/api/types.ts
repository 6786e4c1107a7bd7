// Written by tools/api_types.py (make types) from the OpenAPI document.

export type About = { version: string; python: string; platform: string; started_at: number; store: StoreView; sandbox: SandboxView; data: string | null; };

export type Ahead = { times: Array<number>; time_zone: string; };

export type Answer = { decision: "answered" | "approved" | "denied"; answer?: string | null; keep?: "always" | "once" | "session"; pattern?: string | null; };

export type Answerer = { name: string; tiny: boolean; };

export type ApprovalList = { approvals: Array<ApprovalView>; };

export type ApprovalSeenView = { kind: "approval"; approval: ApprovalView; };

export type ApprovalUpdated = { kind: "approval"; approval: string; call: string; state: "answered" | "approved" | "denied" | "expired" | "pending" | "void"; };

export type ApprovalView = { id: string; session: string; turn: string; call: string; kind: "approval" | "question"; asked: Asked; directory: string | null; state: "answered" | "approved" | "denied" | "expired" | "pending" | "void"; answer: string | null; asked_at: number; expires_at: number; answered_at: number | null; answered_on: string | null; };

export type ApprovePairing = { code: string; user?: string | null; };

export type Asked = { does: string; subject: string; why?: string; choices?: Array<string>; rule?: string; };

export type Attachment = { file: string; name: string; };

export type AttemptBegan = { kind: "attempt"; turn: string; step: number; attempt: number; };

export type BranchAt = { at?: string | null; };

export type BrowserView = { tabs: Array<TabView>; picture: boolean; };

export type CallView = { id: string; turn: string; name: string; arguments: string; state: "cancelled" | "denied" | "done" | "failed" | "requested" | "running" | "unknown" | "waiting"; result: Array<TextPart | ContextPart | ReasoningPart | ImagePart | FilePart | ToolCallPart | ToolResultPart | UnknownView> | null; started_at: number | null; ended_at: number | null; };

export type Cancelled = { cancelled: boolean; };

export type Caps = { day_tokens?: number | null; day_cost?: number | null; };

export type CapsBody = { day_tokens?: number | null; day_cost?: number | null; };

export type ChangeMe = { name?: string | null; time_zone?: string | null; locale?: string | null; };

export type ChangeSchedule = { name?: string; when?: GivenWhen; text?: string; model?: string | null; toolset?: "browser" | "chat" | "files" | "full" | "terminal" | null; session?: string | null; route?: string | null; missed?: "once" | "skip"; paused?: boolean; };

export type ChangeSession = { title?: string | null; project?: string | null; pinned?: boolean; archived?: boolean; seen?: number; model?: string; toolset?: string; };

export type ChangeSettings = { model?: string | null; toolset?: "browser" | "chat" | "files" | "full" | "terminal" | null; appearance?: Record<string, unknown>; };

export type ChangeUser = { name?: string | null; role?: "admin" | "member" | null; disabled?: boolean | null; };

export type ChangedView = { kind: "changed"; cursor: Cursor; at: number; events: Array<SessionUpdated | TurnUpdated | AttemptBegan | MessageAdded | ToolCallUpdated | ApprovalUpdated | HistoryRewritten>; messages?: Array<MessageView>; turns?: Array<TurnView>; calls?: Array<CallView>; approvals?: Array<ApprovalView>; session?: SessionView | null; };

export type ChannelList = { channels: Array<ChannelView>; kinds: Array<string>; };

export type ChannelView = { name: string; kind: string; configured: boolean; groups: "all" | "mention" | "none"; members: "all" | "paired"; sessions: "group" | "user"; reset: string; allow: Array<string>; block: Array<string>; paused: "no" | "yes"; options: Array<string>; condition: "connected" | "connecting" | "elsewhere" | "lost" | "off" | "refused" | "wrong"; since: number; bot: string | null; detail: string | null; received: number; waiting: number; undelivered: number; };

export type Check = { name: string; state: "bad" | "ok" | "warn"; detail: string; advice: string; };

export type CheckList = { checks: Array<Check>; };

export type ChooseModels = { default?: string | null; small?: string | null; fallbacks?: Array<string> | null; };

export type ChosenModels = { default: string | null; small: string | null; fallbacks: Array<string>; fixed: Array<"default" | "fallbacks" | "small">; };

export type CommitView = { outcome: "committed" | "failed" | "nothing"; turns?: number; detail?: string | null; };

export type Compacted = { compacted: boolean; replaced?: Array<string>; model?: string | null; tokens_before?: number | null; tokens_after?: number | null; session: SessionView; };

export type ContextPart = { kind: "context"; label: string; text: string; };

export type Contradiction = { entity: string; attribute: string; older: Fact; newer: Fact; };

export type ContradictionList = { contradictions: Array<Contradiction>; };

export type Counters = { messages?: number; turns?: number; input_tokens?: number; output_tokens?: number; cost?: number; unpriced?: number; };

export type CreatedToken = { token: TokenView; secret: string; };

export type Cursor = { epoch: number; revision: number; turn?: string | null; attempt?: number; seq?: number; };

export type Deltas = { first_seq: number; last_seq: number; deltas: Array<TextDelta | ReasoningDelta | ToolCallDelta | ToolOutputDelta | NoticeDelta>; };

export type Dropped = { dropped: Array<DroppedTurns>; };

export type DroppedTurns = { session: string; turns: number; };

export type Edited = { text?: string; files?: Array<Attachment>; effort?: "high" | "low" | "medium" | "off" | null; };

export type EditedMemory = { text: string; };

export type End = { kind: "end"; reason: "failure" | "gone" | "signed_out" | "stops"; };

export type Entries = { entries: Array<Entry>; more: boolean; };

export type Entry = { name: string; kind: "file" | "folder" | "other"; size: number; changed_at: number; };

export type Fact = { id: string; text: string; kind: "event" | "fact" | "instruction" | "preference"; entities: Array<string>; attribute: string | null; trust: number; session: string | null; turn: string | null; created_at: number; updated_at: number; superseded_by?: string | null; forgotten_at?: number | null; };

export type FactList = { facts: Array<Fact>; };

export type FilePart = { kind: "file"; blob: string; media_type: string; name: string; size: number; sent?: boolean; };

export type FileView = { id: string; media_type: string; size: number; };

export type Focus = { focus?: string | null; };

export type GivenWhen = { kind: "cron" | "every" | "once"; spec: string; time_zone?: string | null; };

export type HistoryRewritten = { kind: "rewrite"; epoch: number; reason: "clear" | "compaction" | "edit" | "restore" | "undo"; };

export type Hit = { seq: number; session: string; title: string | null; message: string; role: "assistant" | "note" | "tool" | "user"; position: number; created_at: number; snippet: Snippet; };

export type Hits = { hits: Array<Hit>; };

export type ImagePart = { kind: "image"; blob: string; media_type: string; name?: string | null; };

export type ImportView = { session: SessionView; created: boolean; };

export type LinkBody = { seconds?: number; };

export type LinkView = { path: string; };

export type MakeSchedule = { name: string; when: GivenWhen; text: string; id?: string | null; model?: string | null; toolset?: "browser" | "chat" | "files" | "full" | "terminal" | null; session?: string | null; route?: string | null; missed?: "once" | "skip"; };

export type Me = { user: UserView; via: "browser" | "cli" | "token"; scopes: Array<"admin" | "chat" | "metrics" | "read">; };

export type MemoryView = { provider: string; profile: string; open: boolean; marked: number; pending: number; failing: number; error: string | null; due_at: number | null; resting: number; unforgotten: number; unforgotten_error: string | null; };

export type MessageAdded = { kind: "message"; message: string; };

export type MessageView = { id: string; role: "assistant" | "note" | "tool" | "user"; parts: Array<TextPart | ContextPart | ReasoningPart | ImagePart | FilePart | ToolCallPart | ToolResultPart | UnknownView>; turn: string | null; partial: boolean; pinned: boolean; position: number; created_at: number; };

export type Messages = { messages: Array<MessageView>; turns: Array<TurnView>; calls: Array<CallView>; approvals: Array<ApprovalView>; older: boolean; };

export type NewChannel = { kind?: string | null; groups?: "all" | "mention" | "none"; members?: "all" | "paired"; sessions?: "group" | "user"; reset?: string; allow?: Array<string>; block?: Array<string>; paused?: "no" | "yes"; options?: Record<string, string | null>; };

export type NewMemory = { text: string; kind?: "event" | "fact" | "instruction" | "preference"; entities?: Array<string>; replaces?: Array<string>; };

export type NewMessage = { text?: string; files?: Array<Attachment>; id?: string | null; steer?: boolean; effort?: "high" | "low" | "medium" | "off" | null; };

export type NewPassword = { old?: string | null; new: string; };

export type NewProvider = { vendor?: "anthropic" | "azure" | "compatible" | "deepseek" | "google" | "groq" | "llamacpp" | "lmstudio" | "local" | "mistral" | "ollama" | "openai" | "openrouter" | "together" | "vllm" | "xai" | null; base_url?: string | null; wire?: "anthropic" | "openai-chat" | "openai-responses" | null; context?: number | null; models?: Array<string>; key?: string | null; };

export type NewRule = { rule: string; decision: "allow" | "ask" | "deny"; session?: string | null; };

export type NewToken = { name: string; scopes: Array<"admin" | "chat" | "metrics" | "read">; seconds?: number | null; };

export type NewUser = { name: string; role?: "admin" | "member"; time_zone?: string; locale?: string; };

export type NoticeDelta = { kind: "notice"; text: string; };

export type Noticed = { kind: "noticed"; cursor: Cursor; text: string; };

export type Offered = { name: string; provider: string; model: string; context: number | null; input_price?: number | null; output_price?: number | null; };

export type OpenSession = { id?: string | null; title?: string | null; project?: string | null; model?: string | null; toolset?: string | null; instructions?: string; previous?: string | null; };

export type PairingList = { pairings: Array<PairingView>; };

export type PairingView = { channel: string; sender: string; user: string | null; state: "approved" | "blocked" | "pending"; name: string | null; created_at: number; expires_at: number | null; };

export type Parent = { session: string; kind: "branch" | "subagent"; message?: string | null; call?: string | null; };

export type Problem = { type: string; title: string; status: number; detail: string; };

export type ProcessView = { id: string; command: string; since: number; until: number | null; status: number | null; output: string; };

export type Project = { name: string; sessions: number; };

export type ProjectList = { projects: Array<Project>; };

export type ProviderList = { providers: Array<ProviderView>; };

export type ProviderView = { name: string; vendor: "anthropic" | "azure" | "compatible" | "deepseek" | "google" | "groq" | "llamacpp" | "lmstudio" | "local" | "mistral" | "ollama" | "openai" | "openrouter" | "together" | "vllm" | "xai"; title: string; base_url: string; origin: "api" | "configuration" | "environment" | "usual"; has_key: boolean; wire: "anthropic" | "openai-chat" | "openai-responses"; context: number | null; models: Array<string>; model: string | null; };

export type Rating = { helpful: boolean; };

export type Ready = { kind: "ready"; };

export type ReasoningDelta = { kind: "reasoning"; text: string; };

export type ReasoningPart = { kind: "reasoning"; text: string; payload?: string | null; origin?: string | null; duration_ms?: number | null; };

export type Refetch = { kind: "refetch"; };

export type Requeued = { text?: string; files?: Array<Attachment>; steer?: boolean | null; };

export type Retried = { retried: number; };

export type Retry = { turn?: string | null; model?: string | null; };

export type Rewound = { kind: "rewound"; cursor: Cursor; turn: string; attempt: number; seq: number; };

export type Rewrite = { epoch: number; kind: "clear" | "compaction" | "edit" | "restore" | "undo"; revision: number; detail: RewriteDetail; created_at: number; };

export type RewriteDetail = { trigger?: string | null; focus?: string | null; model?: string | null; tokens_before?: number | null; tokens_after?: number | null; replacements?: Array<string>; restores?: number | null; };

export type Rewrites = { rewrites: Array<Rewrite>; };

export type RouteList = { routes: Array<RouteView>; };

export type RouteView = { route: string; session: string | null; name: string | null; };

export type Rule = { id: string; tool: string; pattern: string | null; decision: "allow" | "ask" | "deny"; session?: string | null; created_at?: number; };

export type RuleList = { rules: Array<Rule>; };

export type RunList = { runs: Array<ScheduleRun>; };

export type RunNow = { id?: string | null; };

export type SandboxView = { kind: "bubblewrap" | "local" | null; detail: string; };

export type Schedule = { id: string; name: string; when: When; text: string; model?: string | null; toolset?: string | null; session?: string | null; route?: string | null; missed?: "once" | "skip"; paused: boolean; due_at: number | null; created_at: number; };

export type ScheduleList = { schedules: Array<Schedule>; };

export type ScheduleRun = { tick: number; turn: string | null; session: string | null; state: "cancelled" | "completed" | "failed" | "interrupted" | "merged" | "queued" | "removed" | "running" | "waiting" | "gone" | "missed" | "overlapped"; created_at: number; };

export type SessionList = { sessions: Array<SessionView>; };

export type SessionMemory = { uncommitted: boolean; };

export type SessionRemoved = { kind: "removed"; session: string; };

export type SessionSeenView = { kind: "session"; session: SessionView; };

export type SessionUpdated = { kind: "session"; fields: Array<string>; };

export type SessionUsage = { models: Array<Used>; };

export type SessionView = { id: string; title: string | null; title_by: "model" | "person" | null; origin: string; state: "idle" | "queued" | "running" | "waiting"; queued: number; unread: boolean; pinned: boolean; archived: boolean; project: string | null; parent: Parent | null; model: string | null; toolset: string | null; instructions: string; counters: Counters; context_tokens: number; context_window: number | null; revision: number; epoch: number; created_at: number; active_at: number; ended_at: number | null; };

export type SetPassword = { password: string; };

export type SettingsView = { model: string | null; toolset: string | null; appearance: Record<string, unknown>; };

export type SignInBody = { secret?: string | null; name?: string | null; password?: string | null; };

export type SignInList = { sign_ins: Array<SignInView>; };

export type SignInView = { id: string; agent: string | null; created_at: number; seen_at: number | null; expires_at: number; here: boolean; };

export type SnapshotView = { kind: "snapshot"; cursor: Cursor; session: SessionView; messages: Array<MessageView>; older: boolean; queue: Array<TurnView>; turn: TurnView | null; turns: Array<TurnView>; calls: Array<CallView>; approvals: Array<ApprovalView>; deltas: Array<Deltas>; };

export type Snippet = { text: string; marks: Array<unknown[]>; };

export type StoreView = { kind: string; version: string; bytes: number; };

export type Streamed = { kind: "streamed"; cursor: Cursor; deltas: Deltas; };

export type TabView = { url: string; title: string; current: boolean; };

export type Target = { session: string; };

export type TextDelta = { kind: "text"; text: string; };

export type TextPart = { kind: "text"; text: string; note?: "continuation" | "summary" | null; };

export type TokenList = { tokens: Array<TokenView>; };

export type TokenView = { id: string; name: string; scopes: Array<"admin" | "chat" | "metrics" | "read">; created_at: number; used_at: number | null; expires_at: number | null; };

export type ToolCallDelta = { kind: "tool_call"; call: string; name: string; arguments: string; };

export type ToolCallPart = { kind: "tool_call"; call: string; name: string; arguments: string; wire_id?: string | null; };

export type ToolCallUpdated = { kind: "tool_call"; call: string; state: "cancelled" | "denied" | "done" | "failed" | "requested" | "running" | "unknown" | "waiting"; };

export type ToolList = { toolsets: Array<ToolsetView>; tools: Array<ToolView>; };

export type ToolOutputDelta = { kind: "tool_output"; call: string; text: string; };

export type ToolResultPart = { kind: "tool_result"; call: string; content: Array<TextPart | ImagePart | FilePart>; error?: boolean; };

export type ToolRule = { pattern: string | null; decision: "allow" | "ask" | "deny"; };

export type ToolView = { name: string; description: string; decision: "allow" | "ask" | "deny"; asks: string; rules: Array<ToolRule>; };

export type ToolsetView = { name: "browser" | "chat" | "files" | "full" | "terminal"; about: string; default: boolean; tools: Array<string>; };

export type Tried = { works: boolean; model: string; seconds: number; code?: string | null; detail?: string | null; };

export type Trouble = { provider: string; detail: string; };

export type TurnList = { turns: Array<TurnView>; };

export type TurnUpdated = { kind: "turn"; turn: string; state: "cancelled" | "completed" | "failed" | "interrupted" | "merged" | "queued" | "removed" | "running" | "waiting"; reason?: string | null; };

export type TurnView = { id: string; session: string; state: "cancelled" | "completed" | "failed" | "interrupted" | "merged" | "queued" | "removed" | "running" | "waiting"; steer: boolean; route: string | null; effort: "high" | "low" | "medium" | "off" | null; model: string | null; parts: Array<TextPart | ContextPart | ReasoningPart | ImagePart | FilePart | ToolCallPart | ToolResultPart | UnknownView>; message: string | null; step: number; attempt: number; reason: string | null; undone: boolean; created_at: number; started_at: number | null; ended_at: number | null; };

export type UndeliveredList = { messages: Array<UndeliveredView>; };

export type UndeliveredView = { id: string; route: string; session: string | null; turn: string | null; text: string; error: string; tries: number; created_at: number; };

export type UnknownView = { kind: "unknown"; };

export type UsageOverTime = { days: Array<UsedOnDay>; };

export type Used = { provider: string; model: string; calls: number; input_tokens: number; cached_tokens: number; cache_write_tokens: number; output_tokens: number; reasoning_tokens: number; cost: number; unpriced: number; };

export type UsedOnDay = { day: number; used: Used; };

export type UserList = { users: Array<UserView>; };

export type UserView = { id: string; name: string; role: "admin" | "member"; time_zone: string; locale: string; created_at: number; disabled: boolean; has_password: boolean; };

export type When = { kind: "cron" | "every" | "once"; spec: string; time_zone: string; };

export type WhichModel = { model?: string | null; };

export type WhichSender = { channel: string; sender: string; };

export type WhichTurn = { turn?: string | null; };

export type WorkspaceView = { id: string; session: string; since: number; last_used: number; shell: boolean; directory: string; processes: Array<ProcessView>; };

export type ModelList = { default: string | null; small: string | null; fallbacks: Array<string>; fixed: Array<"default" | "fallbacks" | "small">; models: Array<Offered>; troubles: Array<Trouble>; };

export type Calls = {
  "POST /api/sign-in": { path: undefined; query: undefined; body: SignInBody; answer: undefined; };
  "POST /api/sign-out": { path: undefined; query: undefined; body: undefined; answer: undefined; };
  "GET /api/me": { path: undefined; query: undefined; body: undefined; answer: Me; };
  "PATCH /api/me": { path: undefined; query: undefined; body: ChangeMe; answer: UserView; };
  "PUT /api/me/password": { path: undefined; query: undefined; body: NewPassword; answer: undefined; };
  "GET /api/sign-ins": { path: undefined; query: undefined; body: undefined; answer: SignInList; };
  "DELETE /api/sign-ins/{sign_in}": { path: { sign_in: string; }; query: undefined; body: undefined; answer: undefined; };
  "GET /api/tokens": { path: undefined; query: undefined; body: undefined; answer: TokenList; };
  "POST /api/tokens": { path: undefined; query: undefined; body: NewToken; answer: CreatedToken; };
  "DELETE /api/tokens/{token}": { path: { token: string; }; query: undefined; body: undefined; answer: undefined; };
  "GET /api/sessions": { path: undefined; query: { archived?: boolean; pinned?: boolean | null; project?: string | null; filed?: boolean | null; title?: string | null; after_at?: number | null; after?: string | null; limit?: number; }; body: undefined; answer: SessionList; };
  "POST /api/sessions": { path: undefined; query: undefined; body: OpenSession; answer: SessionView; };
  "GET /api/projects": { path: undefined; query: undefined; body: undefined; answer: ProjectList; };
  "GET /api/sessions/{session}": { path: { session: string; }; query: undefined; body: undefined; answer: SessionView; };
  "PATCH /api/sessions/{session}": { path: { session: string; }; query: undefined; body: ChangeSession; answer: SessionView; };
  "DELETE /api/sessions/{session}": { path: { session: string; }; query: undefined; body: undefined; answer: undefined; };
  "POST /api/sessions/{session}/branch": { path: { session: string; }; query: undefined; body: BranchAt; answer: SessionView; };
  "POST /api/sessions/{session}/end": { path: { session: string; }; query: undefined; body: undefined; answer: SessionView; };
  "GET /api/sessions/{session}/subagents": { path: { session: string; }; query: undefined; body: undefined; answer: SessionList; };
  "GET /api/sessions/{session}/usage": { path: { session: string; }; query: undefined; body: undefined; answer: SessionUsage; };
  "GET /api/search": { path: undefined; query: { words: string; session?: string | null; role?: "assistant" | "note" | "tool" | "user" | null; project?: string | null; archived?: boolean | null; since?: number | null; until?: number | null; before?: number | null; limit?: number; }; body: undefined; answer: Hits; };
  "GET /api/sessions/{session}/messages": { path: { session: string; }; query: { before?: number | null; limit?: number; }; body: undefined; answer: Messages; };
  "GET /api/sessions/{session}/snapshot": { path: { session: string; }; query: { limit?: number; }; body: undefined; answer: SnapshotView; };
  "PUT /api/sessions/{session}/messages/{message}/pin": { path: { session: string; message: string; }; query: undefined; body: undefined; answer: undefined; };
  "DELETE /api/sessions/{session}/messages/{message}/pin": { path: { session: string; message: string; }; query: undefined; body: undefined; answer: undefined; };
  "GET /api/sessions/{session}/rewrites": { path: { session: string; }; query: undefined; body: undefined; answer: Rewrites; };
  "GET /api/sessions/{session}/rewrites/{epoch}/replaced": { path: { session: string; epoch: number; }; query: { before?: number | null; limit?: number; }; body: undefined; answer: Messages; };
  "POST /api/sessions/{session}/restore": { path: { session: string; }; query: undefined; body: undefined; answer: SessionView; };
  "POST /api/sessions/{session}/clear": { path: { session: string; }; query: undefined; body: undefined; answer: SessionView; };
  "POST /api/sessions/{session}/compact": { path: { session: string; }; query: undefined; body: Focus; answer: Compacted; };
  "POST /api/sessions/{session}/turns": { path: { session: string; }; query: undefined; body: NewMessage; answer: TurnView; };
  "GET /api/sessions/{session}/turns": { path: { session: string; }; query: undefined; body: undefined; answer: TurnList; };
  "GET /api/sessions/{session}/turns/{turn}": { path: { session: string; turn: string; }; query: undefined; body: undefined; answer: TurnView; };
  "PUT /api/sessions/{session}/turns/{turn}": { path: { session: string; turn: string; }; query: undefined; body: Edited; answer: TurnView; };
  "GET /api/sessions/{session}/queue": { path: { session: string; }; query: undefined; body: undefined; answer: TurnList; };
  "PUT /api/sessions/{session}/queue/{turn}": { path: { session: string; turn: string; }; query: undefined; body: Requeued; answer: TurnView; };
  "DELETE /api/sessions/{session}/queue/{turn}": { path: { session: string; turn: string; }; query: undefined; body: undefined; answer: undefined; };
  "POST /api/sessions/{session}/cancel": { path: { session: string; }; query: undefined; body: WhichTurn; answer: Cancelled; };
  "POST /api/sessions/{session}/continue": { path: { session: string; }; query: undefined; body: undefined; answer: TurnView; };
  "POST /api/sessions/{session}/retry": { path: { session: string; }; query: undefined; body: Retry; answer: TurnView; };
  "POST /api/sessions/{session}/undo": { path: { session: string; }; query: undefined; body: WhichTurn; answer: TurnView; };
  "GET /api/sessions/{session}/events": { path: { session: string; }; query: { after?: string | null; }; body: undefined; answer: SnapshotView | ChangedView | Streamed | Rewound | Noticed | End; };
  "GET /api/events": { path: undefined; query: undefined; body: undefined; answer: Ready | SessionSeenView | SessionRemoved | ApprovalSeenView | Refetch | End; };
  "GET /api/approvals": { path: undefined; query: undefined; body: undefined; answer: ApprovalList; };
  "POST /api/approvals/{approval}": { path: { approval: string; }; query: undefined; body: Answer; answer: ApprovalView; };
  "GET /api/rules": { path: undefined; query: undefined; body: undefined; answer: RuleList; };
  "POST /api/rules": { path: undefined; query: undefined; body: NewRule; answer: Rule; };
  "DELETE /api/rules/{rule}": { path: { rule: string; }; query: undefined; body: undefined; answer: undefined; };
  "GET /api/schedules": { path: undefined; query: undefined; body: undefined; answer: ScheduleList; };
  "POST /api/schedules": { path: undefined; query: undefined; body: MakeSchedule; answer: Schedule; };
  "GET /api/schedules/ahead": { path: undefined; query: { kind: "cron" | "every" | "once"; spec: string; time_zone?: string | null; }; body: undefined; answer: Ahead; };
  "GET /api/schedules/{schedule}": { path: { schedule: string; }; query: undefined; body: undefined; answer: Schedule; };
  "PATCH /api/schedules/{schedule}": { path: { schedule: string; }; query: undefined; body: ChangeSchedule; answer: Schedule; };
  "DELETE /api/schedules/{schedule}": { path: { schedule: string; }; query: undefined; body: undefined; answer: undefined; };
  "POST /api/schedules/{schedule}/run": { path: { schedule: string; }; query: undefined; body: RunNow; answer: TurnView; };
  "GET /api/schedules/{schedule}/runs": { path: { schedule: string; }; query: { before?: number | null; limit?: number; }; body: undefined; answer: RunList; };
  "GET /api/answerer": { path: undefined; query: { model?: string | null; }; body: undefined; answer: Answerer; };
  "GET /api/routes": { path: undefined; query: undefined; body: undefined; answer: RouteList; };
  "GET /api/routes/{route}": { path: { route: string; }; query: undefined; body: undefined; answer: SessionView; };
  "PUT /api/routes/{route}": { path: { route: string; }; query: undefined; body: Target; answer: SessionView; };
  "POST /api/routes/{route}/reset": { path: { route: string; }; query: undefined; body: undefined; answer: SessionView; };
  "GET /api/channels": { path: undefined; query: undefined; body: undefined; answer: ChannelList; };
  "PUT /api/channels/{channel}": { path: { channel: string; }; query: undefined; body: NewChannel; answer: ChannelView; };
  "DELETE /api/channels/{channel}": { path: { channel: string; }; query: undefined; body: undefined; answer: undefined; };
  "GET /api/pairings": { path: undefined; query: undefined; body: undefined; answer: PairingList; };
  "POST /api/pairings/approve": { path: undefined; query: undefined; body: ApprovePairing; answer: PairingView; };
  "POST /api/pairings/block": { path: undefined; query: undefined; body: WhichSender; answer: PairingView; };
  "POST /api/pairings/forget": { path: undefined; query: undefined; body: WhichSender; answer: undefined; };
  "GET /api/undelivered": { path: undefined; query: undefined; body: undefined; answer: UndeliveredList; };
  "POST /api/undelivered/{message}/retry": { path: { message: string; }; query: undefined; body: undefined; answer: undefined; };
  "DELETE /api/undelivered/{message}": { path: { message: string; }; query: undefined; body: undefined; answer: undefined; };
  "POST /api/files": { path: undefined; query: undefined; body: Blob; answer: FileView; };
  "GET /api/files/{file}": { path: { file: string; }; query: undefined; body: undefined; answer: FileView; };
  "GET /api/files/{file}/content": { path: { file: string; }; query: { name?: string | null; save?: boolean; }; body: undefined; answer: Blob; };
  "GET /api/sessions/{session}/files": { path: { session: string; }; query: { path?: string; }; body: undefined; answer: Entries; };
  "GET /api/sessions/{session}/files/content": { path: { session: string; }; query: { path: string; save?: boolean; }; body: undefined; answer: Blob; };
  "GET /api/workspaces": { path: undefined; query: undefined; body: undefined; answer: Array<WorkspaceView>; };
  "GET /api/sessions/{session}/processes": { path: { session: string; }; query: undefined; body: undefined; answer: Array<ProcessView>; };
  "DELETE /api/sessions/{session}/processes/{process}": { path: { session: string; process: string; }; query: undefined; body: undefined; answer: undefined; };
  "GET /api/sessions/{session}/browser": { path: { session: string; }; query: undefined; body: undefined; answer: BrowserView; };
  "GET /api/sessions/{session}/browser/picture": { path: { session: string; }; query: undefined; body: undefined; answer: Blob; };
  "DELETE /api/sessions/{session}/workspace": { path: { session: string; }; query: undefined; body: undefined; answer: undefined; };
  "GET /api/sessions/{session}/export": { path: { session: string; }; query: { format?: "json" | "markdown"; }; body: undefined; answer: Record<string, unknown>; };
  "POST /api/import": { path: undefined; query: undefined; body: unknown; answer: ImportView; };
  "GET /api/usage": { path: undefined; query: { days?: number; }; body: undefined; answer: UsageOverTime; };
  "GET /api/memory": { path: undefined; query: undefined; body: undefined; answer: MemoryView; };
  "POST /api/memory/retry": { path: undefined; query: undefined; body: undefined; answer: Retried; };
  "POST /api/memory/drop": { path: undefined; query: undefined; body: undefined; answer: Dropped; };
  "GET /api/sessions/{session}/memory": { path: { session: string; }; query: undefined; body: undefined; answer: SessionMemory; };
  "POST /api/sessions/{session}/memory/commit": { path: { session: string; }; query: undefined; body: undefined; answer: CommitView; };
  "GET /api/memory/facts": { path: undefined; query: { words?: string | null; about?: string | null; kind?: "event" | "fact" | "instruction" | "preference" | null; session?: string | null; before?: string | null; limit?: number; }; body: undefined; answer: FactList; };
  "POST /api/memory/facts": { path: undefined; query: undefined; body: NewMemory; answer: Fact; };
  "GET /api/memory/contradictions": { path: undefined; query: { limit?: number; }; body: undefined; answer: ContradictionList; };
  "GET /api/memory/facts/{fact}": { path: { fact: string; }; query: undefined; body: undefined; answer: Fact; };
  "PATCH /api/memory/facts/{fact}": { path: { fact: string; }; query: undefined; body: EditedMemory; answer: Fact; };
  "DELETE /api/memory/facts/{fact}": { path: { fact: string; }; query: undefined; body: undefined; answer: undefined; };
  "POST /api/memory/facts/{fact}/rate": { path: { fact: string; }; query: undefined; body: Rating; answer: Fact; };
  "GET /api/models": { path: undefined; query: undefined; body: undefined; answer: ModelList; };
  "PATCH /api/models": { path: undefined; query: undefined; body: ChooseModels; answer: ChosenModels; };
  "GET /api/providers": { path: undefined; query: undefined; body: undefined; answer: ProviderList; };
  "PUT /api/providers/{provider}": { path: { provider: string; }; query: undefined; body: NewProvider; answer: ProviderView; };
  "DELETE /api/providers/{provider}": { path: { provider: string; }; query: undefined; body: undefined; answer: undefined; };
  "POST /api/providers/{provider}/test": { path: { provider: string; }; query: undefined; body: WhichModel; answer: Tried; };
  "GET /api/settings": { path: undefined; query: undefined; body: undefined; answer: SettingsView; };
  "PATCH /api/settings": { path: undefined; query: undefined; body: ChangeSettings; answer: SettingsView; };
  "GET /api/tools": { path: undefined; query: undefined; body: undefined; answer: ToolList; };
  "GET /api/about": { path: undefined; query: undefined; body: undefined; answer: About; };
  "GET /api/doctor": { path: undefined; query: undefined; body: undefined; answer: CheckList; };
  "GET /api/users": { path: undefined; query: undefined; body: undefined; answer: UserList; };
  "POST /api/users": { path: undefined; query: undefined; body: NewUser; answer: UserView; };
  "PATCH /api/users/{user}": { path: { user: string; }; query: undefined; body: ChangeUser; answer: UserView; };
  "DELETE /api/users/{user}": { path: { user: string; }; query: undefined; body: undefined; answer: undefined; };
  "PUT /api/users/{user}/password": { path: { user: string; }; query: undefined; body: SetPassword; answer: undefined; };
  "GET /api/users/{user}/tokens": { path: { user: string; }; query: undefined; body: undefined; answer: TokenList; };
  "POST /api/users/{user}/tokens": { path: { user: string; }; query: undefined; body: NewToken; answer: CreatedToken; };
  "DELETE /api/users/{user}/tokens/{token}": { path: { user: string; token: string; }; query: undefined; body: undefined; answer: undefined; };
  "POST /api/users/{user}/link": { path: { user: string; }; query: undefined; body: LinkBody; answer: LinkView; };
  "GET /api/users/{user}/caps": { path: { user: string; }; query: undefined; body: undefined; answer: Caps; };
  "PUT /api/users/{user}/caps": { path: { user: string; }; query: undefined; body: CapsBody; answer: Caps; };
  "POST /api/me/link": { path: undefined; query: undefined; body: undefined; answer: LinkView; };
};
