import { mount } from "svelte";
import App from "./App.svelte";
import { registerWorker } from "./lib/offline";

const target = document.getElementById("app");
if (target) mount(App, { target });
void registerWorker();
