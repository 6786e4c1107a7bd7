/** What each platform asks for, as the form has it. What is a secret on some is one on all: values
 * go in and never come out. */

import type { ChannelView, NewChannel } from "../../api/types";
import { t } from "../../text/text";

const words = t.channels.fields;

export type Field = {
  option: string;
  label: string;
  hint: string;
  isSecret?: boolean;
  isNeeded?: boolean;
  /** Of those with the same one, at least one is needed. */
  oneOf?: string;
};

const FIELDS: Record<string, Field[]> = {
  telegram: [
    field("token", words.telegramToken, words.telegramTokenHint, {
      isSecret: true,
      isNeeded: true,
    }),
    field("webhook", words.telegramWebhook, words.telegramWebhookHint),
    field("api", words.api, words.telegramApiHint),
  ],
  discord: [
    field("token", words.discordToken, words.discordTokenHint, { isSecret: true, isNeeded: true }),
  ],
  slack: [
    field("token", words.slackToken, words.slackTokenHint, { isSecret: true, isNeeded: true }),
    field("app_token", words.slackAppToken, words.slackAppTokenHint, {
      isSecret: true,
      oneOf: "way",
    }),
    field("signing_secret", words.slackSecret, words.slackSecretHint, {
      isSecret: true,
      oneOf: "way",
    }),
    field("api", words.api, words.slackApiHint),
  ],
  webhook: [
    field("secret", words.webhookSecret, words.webhookSecretHint, {
      isSecret: true,
      isNeeded: true,
    }),
    field("callback", words.webhookCallback, words.webhookCallbackHint),
  ],
};

function field(option: string, label: string, hint: string, more: Partial<Field> = {}): Field {
  return { option, label, hint, ...more };
}

/** None for platforms that packages bring: their options are written by hand. */
export function fieldsOf(kind: string): Field[] {
  return FIELDS[kind] ?? [];
}

/** What is asked for at once; the rest stands further down. */
export function isFirst(each: Field): boolean {
  return !!each.isNeeded || !!each.oneOf || each.option === "callback";
}

export type Rule = "never" | "idle" | "daily";

export type Entered = {
  kind: string;
  name: string;
  values: Record<string, string>;
  /** Options that are to go. */
  out: string[];
  /** Those of a platform without fields, one on each line. */
  written: string;
  groups: ChannelView["groups"];
  members: ChannelView["members"];
  sessions: ChannelView["sessions"];
  rule: Rule;
  idle: string;
  daily: string;
  allow: string;
  block: string;
};

export function begun(kind: string, name: string, before: ChannelView | null): Entered {
  const [rule = "never", spec = ""] = (before?.reset ?? "never").split(" ");
  return {
    kind,
    name,
    values: {},
    out: [],
    written: "",
    groups: before?.groups ?? "mention",
    members: before?.members ?? "paired",
    sessions: before?.sessions ?? "group",
    rule: rule === "idle" || rule === "daily" ? rule : "never",
    idle: rule === "idle" ? spec : "8h",
    daily: rule === "daily" ? spec : "04:00",
    allow: before?.allow.join(", ") ?? "",
    block: before?.block.join(", ") ?? "",
  };
}

/** What is missing, by the option or "name". What is set already need not be given again. */
export function missing(
  entered: Entered,
  before: ChannelView | null,
  taken: string[],
): Record<string, string> {
  const errors: Record<string, string> = {};
  const name = entered.name.trim();
  if (!/^[a-z0-9][a-z0-9_-]{0,31}$/.test(name)) errors["name"] = t.channels.form.nameHint;
  else if (!before && taken.includes(name)) errors["name"] = t.channels.form.nameTaken;
  const fields = fieldsOf(entered.kind);
  const has = ({ option }: Field): boolean =>
    isGiven(entered, option) || keeps(entered, option, before);
  for (const each of fields) {
    if (each.isNeeded && !has(each)) errors[each.option] = t.channels.form.missing;
    const others = fields.filter(({ oneOf }) => oneOf === each.oneOf);
    if (each.oneOf && !others.some(has)) errors[each.option] = t.channels.form.oneOf;
  }
  return errors;
}

function isGiven(entered: Entered, option: string): boolean {
  return !!entered.values[option]?.trim();
}

function keeps(entered: Entered, option: string, before: ChannelView | null): boolean {
  return !!before?.options.includes(option) && !entered.out.includes(option);
}

/** What is sent: options that were not touched are left out, and stay as they are. */
export function asChannel(entered: Entered, before: ChannelView | null): NewChannel {
  const given = fieldsOf(entered.kind).filter(({ option }) => isGiven(entered, option));
  const options: Record<string, string | null> = { ...byHand(entered.written) };
  for (const option of entered.out) options[option] = null;
  for (const { option } of given) options[option] = entered.values[option]?.trim() ?? "";
  return {
    kind: entered.kind,
    groups: entered.groups,
    members: entered.members,
    sessions: entered.sessions,
    reset: resetOf(entered),
    allow: listed(entered.allow),
    block: listed(entered.block),
    paused: before?.paused ?? "no",
    options,
  };
}

function resetOf({ rule, idle, daily }: Entered): string {
  if (rule === "idle") return `idle ${idle.trim()}`;
  return rule === "daily" ? `daily ${daily.trim()}` : "never";
}

function byHand(written: string): Record<string, string | null> {
  const pairs = written
    .split("\n")
    .map((line) => line.split(/=(.*)/s).map((each) => each.trim()))
    .filter(([name]) => name);
  return Object.fromEntries(pairs.map(([name = "", value = ""]) => [name, value || null]));
}

function listed(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** As a channel is, to be sent back with a change. */
export function unchanged(channel: ChannelView): NewChannel {
  const { kind, groups, members, sessions, reset, allow, block, paused } = channel;
  return { kind, groups, members, sessions, reset, allow, block, paused, options: {} };
}

/** A name that no other channel has. */
export function freshName(kind: string, taken: string[]): string {
  let name = kind;
  for (let n = 2; taken.includes(name); n++) name = `${kind}-${n}`;
  return name;
}
