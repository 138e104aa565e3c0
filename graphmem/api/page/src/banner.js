// What the page of a public sandbox says at its top, on every view.
import { html, useEffect, useState } from '../vendor/preact.js';
import { address, get } from './api.js';

/** Seconds after which the banner asks again, so that a page that stays open tells of the wipe. */
const AGAIN = 600;

export function SandboxBanner() {
  const [info, know] = useState(/** @type {any} */ (null));
  useEffect(() => {
    const look = () => get('/server-info').then(know, () => undefined);
    look();
    const timer = setInterval(look, AGAIN * 1000);
    return () => clearInterval(timer);
  }, []);
  if (!info) return null;
  const next = new Date(info.sandbox_next_reset_at);
  return html`<aside class="sandbox" aria-label="Public sandbox">
    <strong>Public sandbox.</strong> Everybody reads what you store. ${info.sandbox_notice
      ? html`<strong role="status">${info.sandbox_notice}</strong>`
      : html`Everything is wiped on <time datetime=${info.sandbox_next_reset_at}>${next.toUTCString()}</time>.`}
    ${' '}<a href=${address('/sandbox/terms')}>Terms, and how to report abuse</a></aside>`;
}
