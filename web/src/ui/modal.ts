/** Shows a dialog over the page. Returns what ends it and gives the focus back: when a component goes,
 * its elements go first, and a browser gives nothing back for a dialog that is gone. */
export function modal(dialog: HTMLDialogElement): () => void {
  const before = document.activeElement;
  dialog.showModal();
  return () => {
    dialog.close();
    // Whoever took the focus meanwhile keeps it.
    const isFree = !document.activeElement || document.activeElement === document.body;
    if (isFree && before instanceof HTMLElement && before.isConnected) before.focus();
  };
}
