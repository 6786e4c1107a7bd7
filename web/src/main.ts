import "./style/tokens.css";
import "./style/base.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { registerWorker, reloadWhenReplaced } from "./lib/offline";

reloadWhenReplaced();
const target = document.getElementById("app");
if (target) mount(App, { target });
void registerWorker();
