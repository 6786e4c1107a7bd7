import { mount } from "svelte";
import App from "./App.svelte";
import { registerWorker, reloadWhenReplaced } from "./lib/offline";
import { settings } from "./state/settings.svelte";
import "./style/tokens.css";
import "./style/base.css";

reloadWhenReplaced();
settings.show();
const target = document.getElementById("app");
if (target) mount(App, { target });
void registerWorker();
