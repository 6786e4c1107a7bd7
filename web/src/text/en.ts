import { channels } from "./channels";
import { common } from "./common";
import { composer } from "./composer";
import { conversation } from "./conversation";
import { errors } from "./errors";
import { markdown } from "./markdown";
import { panel } from "./panel";
import { schedules } from "./schedules";
import { settings } from "./settings";
import { shell } from "./shell";
import { sidebar } from "./sidebar";
import { ui } from "./ui";
import { welcome } from "./welcome";

export const en = {
  channels,
  common,
  composer,
  conversation,
  errors,
  markdown,
  panel,
  schedules,
  settings,
  shell,
  sidebar,
  ui,
  welcome,
};
