/** What an admin does to a user in a dialog. */
export type Task = "edit" | "link" | "password" | "caps" | "remove";
