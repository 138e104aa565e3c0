// The shell: who is logged in, which view the address names, navigation.
import { html, render, useEffect, useErrorBoundary, useRef, useState } from '../vendor/preact.js';
import { Account, Health, Writers } from './account.js';
import { Merge, Relate, Split } from './actions.js';
import { Refused, begin, finish, isLoggedIn, isOffered, logout, readCaller } from './api.js';
import { SandboxBanner } from './banner.js';
import { EntityView } from './entity.js';
import { keepFocus } from './focus.js';
import { Graph, GraphOfAll } from './graph.js';
import { Home, Search } from './home.js';
import { Changes, Entities, Timeline } from './lists.js';
import { Closed, Problem, words } from './parts.js';
import { Programs } from './programs.js';
import { Receipt } from './receipts.js';
import { Schema, Schemas } from './schemas.js';
import { Source, Sources } from './sources.js';
import { Conversations } from './talks.js';

/** @typedef {import('./parts.js').Place} Place */

const LINKS = [['/', 'Home'], ['/entities', 'Entities'], ['/graph', 'Graph'], ['/conversations', 'Conversations'], ['/sources', 'Sources'], ['/timeline', 'Timeline'], ['/changes', 'Changes'], ['/schemas', 'Schemas'], ['/writers', 'Writers'], ['/health', 'Health'], ['/account', 'Account']];
const THEMES = ['auto', 'light', 'dark'];

/** @returns {Place} the view that the address names */
function placed() {
  const [path, query = ''] = location.hash.slice(1).split('?');
  return { path: path || '/', query: Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {{place: Place}} props */
function View({ place }) {
  const [fault, forget] = useErrorBoundary();
  useEffect(forget, [place]);
  if (fault) return html`<h1>This view cannot be shown</h1><${Problem} error=${fault} />`;
  const [, name, id = '', deed = ''] = place.path.split('/');
  const known = decoded(id);
  const request = /** @type {Record<string, string>} */ ({ merge: 'POST /entities/merge', split: 'POST /entities/split' })[deed];
  if (request && !isOffered(request)) return html`<${Closed} title=${words(deed)} />`;
  if (name === '') return html`<${Home} />`;
  if (name === 'search') return html`<${Search} place=${place} />`;
  if (name === 'entities') return html`<${Entities} place=${place} />`;
  if (name === 'entity' && known && deed === 'relate') return html`<${Relate} key=${known} id=${known} />`;
  if (name === 'entity' && known && deed === 'merge') return html`<${Merge} key=${known} place=${place} id=${known} />`;
  if (name === 'entity' && known && deed === 'split') return html`<${Split} key=${known} id=${known} />`;
  if (name === 'entity' && known && !deed) return html`<${EntityView} key=${known} place=${place} id=${known} />`;
  if (name === 'graph' && !id) return html`<${GraphOfAll} place=${place} />`;
  if (name === 'conversations') return html`<${Conversations} place=${place} />`;
  if (name === 'programs') return html`<${Programs} />`;
  if (name === 'graph' && known) return html`<${Graph} key=${known} place=${place} id=${known} />`;
  if (name === 'sources') return html`<${Sources} place=${place} />`;
  if (name === 'source' && known) return html`<${Source} key=${known} place=${place} id=${known} />`;
  if (name === 'receipt' && known) return html`<${Receipt} key=${known} id=${known} />`;
  if (name === 'timeline') return html`<${Timeline} place=${place} />`;
  if (name === 'changes') return html`<${Changes} place=${place} />`;
  if (name === 'schemas') return html`<${Schemas} place=${place} />`;
  if (name === 'schema' && known) return html`<${Schema} key=${known} id=${known} />`;
  if (name === 'writers') return html`<${Writers} />`;
  if (name === 'health') return html`<${Health} />`;
  if (name === 'account') return html`<${Account} />`;
  return html`<h1>No such view</h1><p>The address names no view of this page. <a href="#/">Go to the first one.</a></p>`;
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** @param {{error: any}} props */
function Login({ error }) {
  const [fault, set] = useState(error);
  return html`<h1>Log in</h1>
    <p>This service is guarded. It asks you on a page of its own, and sends you back. What you may see is what your account may see.</p>
    <p class="soft">You need the name and password of your account, an API key, or the one-time code of <code>graphmem auth code</code>. The login lives in this tab and ends with it.</p>
    ${fault && html`<${Problem} error=${fault} />`}
    <button class="strong" onClick=${() => begin().catch(set)}>Log in</button>`;
}

function Theme() {
  const [theme, set] = useState(localStorage.getItem('graphmem-theme') ?? 'auto');
  const choose = (/** @type {string} */ chosen) => {
    document.documentElement.dataset.theme = chosen;
    localStorage.setItem('graphmem-theme', chosen);
    set(chosen);
  };
  useEffect(() => choose(theme), []);
  return html`<select class="theme" aria-label="Theme" value=${theme} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>${THEMES.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`;
}

/** @param {{failed: any}} props */
function App({ failed }) {
  const [place, go] = useState(placed());
  const [who, know] = useState(/** @type {any} */ (null));
  const [problem, fail] = useState(/** @type {any} */ (null));
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const look = () => readCaller().then(know, (error) => fail(error instanceof Refused && error.status === 401 ? { login: true } : error));
  useEffect(() => {
    const moved = () => {
      const next = placed();
      go((/** @type {Place} */ before) => {
        if (before.path !== next.path) {
          window.scrollTo(0, 0);
          main.current?.focus({ preventScroll: true });
        }
        return next;
      });
    };
    const ended = () => { know(null); fail({ login: true }); };
    window.addEventListener('hashchange', moved);
    window.addEventListener('login-needed', ended);
    // The address may have changed since the first drawing.
    moved();
    look();
    return () => { window.removeEventListener('hashchange', moved); window.removeEventListener('login-needed', ended); };
  }, []);
  const leave = () => logout().catch(() => undefined).then(() => { know(null); fail({ login: true }); });
  return html`<a class="skip" href="#main" onClick=${(/** @type {Event} */ event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
    <header><a class="brand" href="#/">graphmem</a>
      ${!problem?.login && html`<nav aria-label="Views"><ul>${LINKS.map(([path, text]) => html`<li key=${path}><a href=${`#${path}`} aria-current=${place.path === path ? 'page' : undefined}>${text}</a></li>`)}</ul></nav>`}
      <div class="who"><span class="soft self">${who && (['none', 'sandbox'].includes(who.authentication) ? 'no login needed' : html`<bdi>${who.account}</bdi>`)}</span>
        ${isLoggedIn() && html`<button class="quiet" onClick=${leave}>Log out</button>`}<${Theme} /></div></header>
    ${who?.sandbox_mode && html`<${SandboxBanner} />`}
    <main id="main" ref=${main} tabindex="-1">${content(who, problem, place, failed)}</main>`;
}

/** @param {any} who @param {any} problem @param {Place} place @param {any} failed why the login failed */
function content(who, problem, place, failed) {
  if (problem?.login) return html`<${Login} error=${failed} />`;
  if (problem) return html`<h1>graphmem cannot be read</h1><${Problem} error=${problem} />`;
  if (!who) return html`<p class="waiting" role="status">Loading …</p>`;
  return html`<${View} place=${place} />`;
}

const failed = await finish().then(() => null, (error) => error);
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
keepFocus(root);
render(html`<${App} failed=${failed} />`, root);
