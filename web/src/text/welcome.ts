/** Words of the first pages: signing in, the welcome, and what it offers. */

import { counted } from "./counted";

export const welcome = {
  // Signing in.
  signIn: "Sign in",
  signInTitle: "Sign in to Roost",
  sentence: "Your agent, at home on your own machine.",
  byLink: "Signing you in",
  name: "Name",
  password: "Password",
  wrong: "The name or the password is not right.",
  tooMany: (seconds: number) =>
    `That was tried too often. Wait ${counted(seconds, "second")}, or use a link.`,
  badLink: "This link can't be used",
  badLinkDetail:
    "It was used before, or has expired. Make a new one on the machine that Roost runs on:",
  linkCommand: "roost user link",
  noPassword: "No password yet? Make a link on the machine that Roost runs on:",
  copyCommand: "Copy the command",

  // The page of a new chat.
  hello: "Hello. This is Roost.",
  helloSentence:
    "Say what you want to know or get done. What you start here goes on when you close the page.",
  greetings: {
    morning: "Good morning",
    day: "Hello",
    evening: "Good evening",
    night: "Still up",
  },
  greeting: (words: string, name: string) => `${words}, ${name}.`,
  answers: (model: string) => `${model} answers.`,
  tiny: "The built-in model answers now: small and slow, good for trying things.",
  tinyShort: "The built-in model answers. It is small.",
  noModel: "No model answers yet.",
  starters: "To begin with",
  prompts: [
    {
      title: "Explain something",
      text: "Explain how a bird sleeps on a branch without falling off.",
    },
    { title: "Think it through", text: "Help me plan a quiet weekend with one day outside." },
    {
      title: "Write with me",
      text: "Write a short note that thanks a neighbour for watering plants.",
    },
  ],
  offers: "Set up",
  addProvider: "Add a provider",
  addProviderHint: "A larger model: OpenAI, Anthropic, Ollama and others.",
  import: "Import",
  importHint: "Sessions that were exported from a Roost.",
  phone: "Use it on a phone",
  phoneHint: "Scan a code, and be signed in there.",
  setPassword: "Set a password",
  setPasswordHint: "To sign in without a link.",

  // A provider.
  providerTitle: "Add a provider",
  providerEdit: (name: string) => `Change ${name}`,
  vendor: "Provider",
  vendors: {
    anthropic: "Anthropic",
    openai: "OpenAI",
    google: "Google",
    openrouter: "OpenRouter",
    mistral: "Mistral",
    deepseek: "DeepSeek",
    xai: "xAI",
    groq: "Groq",
    together: "Together",
    azure: "Azure OpenAI",
    ollama: "Ollama",
    lmstudio: "LM Studio",
    llamacpp: "llama.cpp server",
    vllm: "vLLM",
    compatible: "Another server, OpenAI-compatible",
  },
  providerName: "Name",
  providerNameHint: "Small letters and digits. Its models are called name/model.",
  baseUrl: "Address",
  baseUrlHint: (usual: string) => `Empty means ${usual}.`,
  baseUrlNeeded: "Where the server is, with /v1 if it has that.",
  baseUrlMissing: "The address is missing.",
  key: "Key",
  keyHint: "It is kept encrypted on the server, and never shown again.",
  keyKept: "Empty keeps the one that is there.",
  keyOptional: "Only if the server asks for one.",
  keyMissing: "The key is missing.",
  modelNames: "Models",
  modelNamesHint: "Names, with commas between; empty asks the provider.",
  more: "More",
  test: "Save and test",
  testing: "Asking it for a word",
  works: (model: string, seconds: string) => `${model} answered in ${seconds} s.`,
  fails: "It does not answer",
  nothingListed: "It does not say which models it has. Name one under More.",
  failsKept: "What you entered is kept. Change it and test again, or remove it.",
  removeProvider: "Remove it",
  chooseDefault: "Who answers in new chats",
  keepDefault: "Leave it as it is",
  useIt: "Use it",
  defaultFixed: "The default stands in the configuration of the server, and is changed there.",

  // Import.
  importTitle: "Import sessions",
  importDrop: "Drop files here, or",
  chooseFiles: "choose files",
  importWhat: "Files that Roost exported as JSON. Taking one in twice changes nothing.",
  importing: (name: string) => `Reading ${name}`,
  imported: "Imported",
  wasThere: "Was here already",
  importTooLarge: "Larger than 128 MB, which is the limit.",
  openSession: "Open",
  importFiles: "Files to import",

  // Phone.
  phoneTitle: "Use it on a phone",
  phoneScan: "Scan this with the phone's camera. It signs in once, and only for a few minutes.",
  phoneCode: "Code that leads to the sign-in link",
  phoneAddress: "Address",
  phoneCopy: "Copy the link",
  phoneNew: "New code",
  phoneLocal: "A phone can't reach this address",
  phoneLocalDetail: (host: string) =>
    `${host} means this machine only. Start Roost so that your network can reach it, and open it here by that machine's name or number:`,
  phoneCommand: "roost run --host 0.0.0.0",
  phoneSafe: "Anyone who has this code can sign in as you until it is used.",

  // Password.
  passwordSet: "The password is set.",
};
