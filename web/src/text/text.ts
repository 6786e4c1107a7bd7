/** Every word on the screen. Another language is another object of this shape. */
export { en as t } from "./en";
