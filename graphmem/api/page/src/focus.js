// Keeps the focus when what has it disappears, such as the row of a key that was revoked, or is disabled for a while.

const FOCUSABLE = 'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex="0"]';

/** @param {HTMLElement} root outside of which the focus is left alone */
export function keepFocus(root) {
  /** What had the focus last, and what it was in. @type {Element[]} */
  let path = [];
  root.addEventListener('focusin', (event) => {
    path = event.composedPath().filter((each) => each instanceof Element && root.contains(each)).map((each) => /** @type {Element} */ (each));
  });
  // Whoever points somewhere else has left it.
  root.addEventListener('pointerdown', () => { path = []; });
  const lost = () => {
    const last = path[0];
    if (document.activeElement !== document.body || !last || (last.isConnected && last.matches(':disabled'))) return;
    const left = path.filter((each) => each.isConnected && root.contains(each));
    const next = left.map((each) => (each === last || each.matches('main') ? each : each.querySelector(FOCUSABLE))).find(Boolean);
    /** @type {HTMLElement | null | undefined} */ (next)?.focus({ preventScroll: true });
  };
  // After all that is drawn at once, which may set the focus itself.
  new MutationObserver(() => setTimeout(lost)).observe(root, { childList: true, subtree: true, attributeFilter: ['disabled'] });
}
