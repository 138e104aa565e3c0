// Requests to the REST API of the service that serves this page, and the login by its own OAuth.

/** The address of the service: the page is at its root, whatever path a proxy has put before it. A frame of a host has none. */
const BASE = new URL('.', location.protocol === 'about:' ? 'http://localhost' : location.href.split('#')[0]);
const PENDING = 'graphmem-login';
/** The time zone of the browser: days in questions are its days. */
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Seconds before its end at which a token is renewed. */
const RENEW_BEFORE = 60;

/** What REST takes and answers, by path. @template {string} P @typedef {import('../../../../packaging/rest.js').Answer<P>} Answer */
/** @template {string} P @typedef {import('../../../../packaging/rest.js').Posted<P>} Posted */
/** @template {string} P @typedef {import('../../../../packaging/rest.js').Body<P>} Body */
/** @typedef {{access: string, refresh: string | null, until: number}} Tokens */

/** What the tab knows and never stores: a reload forgets it. @type {Tokens | null} */
let tokens = null;
/** @type {Promise<void> | null} */
let renewal = null;

/** An answer that is an error: a sentence for people, and the trace id by which the log has it. */
export class Refused extends Error {
  /**
   * @param {string} message
   * @param {number} status 0: no answer came
   * @param {string} code
   * @param {string} trace
   */
  constructor(message, status, code, trace) {
    super(message);
    this.status = status;
    this.code = code;
    this.trace = trace;
  }
}

/** @param {string} path */
export const address = (path) => new URL(path.replace(/^\//, ''), BASE).href;
export const isLoggedIn = () => tokens !== null;

/** What the service refuses this caller whatever it sends, such as `POST /undo`. @type {Set<string>} */
const closed = new Set();
/** Whether the page may offer a request. @param {string} request its method and the path of its route, as the terms of a sandbox name it */
export const isOffered = (request) => !closed.has(request);

/** Read who calls, and what is closed to it. */
export async function readCaller() {
  const caller = await get('/me');
  closed.clear();
  if (!caller.scopes.includes('admin')) closed.add('GET /doctor');
  if (caller.sandbox_mode) for (const each of (await get('/sandbox/terms')).closed_requests) closed.add(each);
  return caller;
}

/**
 * @template {string} P
 * @param {P} path
 * @param {Record<string, unknown>} query
 * @returns {P} for the check of types it is still the path
 */
export function withQuery(path, query) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return /** @type {P} */ (text ? `${path}${path.includes('?') ? '&' : '?'}${text}` : path);
}

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function send(path, options) {
  /** @type {Record<string, string>} */
  const headers = { 'X-Client-Name': 'inspector', Prefer: `timezone=${ZONE}`, ...(/** @type {any} */ (options.headers)) };
  if (tokens) headers.Authorization = `Bearer ${tokens.access}`;
  try {
    return await fetch(address(path), { ...options, headers, credentials: 'omit', redirect: 'error', cache: 'no-store' });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refused('The service does not answer. Check that it runs, and try again.', 0, 'UNREACHABLE', '');
  }
}

/** @param {Response} answer */
async function refusedBy(answer) {
  const body = await answer.json().catch(() => ({}));
  const issues = body.details?.issues?.map((/** @type {any} */ each) => `${each.path}: ${each.message}`) ?? [];
  const said = String(body.message ?? body.error_description ?? `The service answered ${answer.status}.`);
  const message = [said, ...issues.filter((/** @type {string} */ each) => !said.includes(each))].join(' ');
  return new Refused(message, answer.status, body.error_code ?? body.error ?? '', body.trace_id ?? answer.headers.get('x-trace-id') ?? '');
}

/**
 * Send a request, with a token that is renewed where it is about to end.
 * @param {string} path
 * @param {RequestInit} options
 */
async function answered(path, options) {
  await keepLogin();
  return settled(await send(path, options));
}

async function keepLogin() {
  if (tokens?.refresh && Date.now() > tokens.until - RENEW_BEFORE * 1000) await renew();
}

/** @param {Response} answer */
async function settled(answer) {
  if (answer.ok) return answer;
  const refused = await refusedBy(answer);
  if (answer.status === 401) {
    tokens = null;
    window.dispatchEvent(new Event('login-needed'));
  }
  throw refused;
}

/**
 * Read something.
 * @template {string} P
 * @param {P} path with its query
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer<P>>}
 */
export const get = async (path, signal) => (await answered(path, { signal })).json();

/**
 * Send a JSON body.
 * @template {string} P
 * @param {P} path
 * @param {Body<P>} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<Posted<P>>}
 */
export const post = async (path, body, signal) =>
  (await answered(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' }, signal })).json();

/** @param {string} path @returns {Promise<any>} */
export const remove = async (path) => (await answered(path, { method: 'DELETE' })).json();

/**
 * Store a file alone. `fetch` does not say how much of a body is sent, so this is the older kind of request.
 * @param {File} file
 * @param {(share: number) => void} moved from 0 to 1
 * @returns {Promise<Posted<'/store/unstructured'>>}
 */
export async function upload(file, moved) {
  await keepLogin();
  const request = new XMLHttpRequest();
  request.open('POST', address('/store/unstructured'));
  request.setRequestHeader('X-Client-Name', 'inspector');
  if (tokens) request.setRequestHeader('Authorization', `Bearer ${tokens.access}`);
  request.upload.onprogress = (event) => event.lengthComputable && moved(event.loaded / event.total);
  const body = new FormData();
  body.append('file', file, file.name);
  const ended = new Promise((resolve) => { request.onloadend = resolve; });
  request.send(body);
  await ended;
  if (!request.status) throw new Refused('The file did not arrive. Check that it is a file and no folder, that it can be read, and that the service runs.', 0, 'UNREACHABLE', '');
  const trace = request.getResponseHeader('x-trace-id') ?? '';
  return (await settled(new Response(request.responseText, { status: request.status, headers: { 'x-trace-id': trace } }))).json();
}

/**
 * Follow the stream of changes until the signal. EventSource could send no token, so this reads the stream itself.
 * @param {string} after the cursor after which to begin
 * @param {(change: any) => void} take
 * @param {AbortSignal} signal
 */
export async function follow(after, take, signal) {
  let cursor = after;
  while (!signal.aborted) {
    try {
      const answer = await answered(withQuery('/events/stream', { after: cursor }), { signal });
      const reader = /** @type {ReadableStream<any>} */ (answer.body).pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const frames = (rest + part.value).split(/\r?\n\r?\n/);
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const lines = Object.fromEntries(frame.split(/\r?\n/).map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
          if (lines.event && !['ready', 'error'].includes(lines.event) && lines.data) take(JSON.parse(lines.data));
          cursor = lines.id ?? cursor;
        }
      }
    } catch (error) {
      // What will not become right by itself: the login has ended, or the cursor is of other data.
      if (error instanceof Refused && error.status >= 400 && error.status < 500 && error.status !== 429) return;
    }
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

// Login: authorization code with PKCE, as a public client without an id of its own.

/** @param {Uint8Array} bytes */
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/**
 * Go to the page of the service that asks the person; it sends the browser back here.
 * @param {string} scope with `keys` the page may make keys, until its token is renewed
 */
export async function begin(scope = 'read write') {
  if (!crypto.subtle) {
    throw new Refused('A login needs https, or an address of this computer such as http://localhost.', 0, 'INSECURE', '');
  }
  const verifier = random();
  const challenge = base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
  const { api_base: base } = await get('/server-info');
  const asked = await post('/mcp/oauth/initiate', {
    auth_provider: 'local', client_name: 'Inspector of this service', redirect_uri: BASE.href, resource: base, scope,
    code_challenge: challenge, code_challenge_method: 'S256', state: random(),
  });
  await logout();
  // The browser leaves the page, so what proves that this tab began waits here. It is no token.
  sessionStorage.setItem(PENDING, JSON.stringify({ verifier, state: asked.state, view: location.hash }));
  location.assign(asked.authorization_url);
}

/** Take the answer of the login out of the address, if the address has one. */
export async function finish() {
  const sent = new URLSearchParams(location.search);
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? 'null');
  sessionStorage.removeItem(PENDING);
  if (!sent.has('state')) return;
  history.replaceState(null, '', BASE.pathname + (pending?.view ?? ''));
  if (!pending || sent.get('state') !== pending.state) {
    throw new Refused('This tab did not begin the login, so its answer is not taken. Log in again.', 0, 'STATE', '');
  }
  if (sent.has('error')) {
    const denied = sent.get('error') === 'access_denied';
    throw new Refused(denied ? 'The login was denied.' : sent.get('error_description') ?? 'The login failed.', 0, sent.get('error') ?? '', '');
  }
  const code = sent.get('code') ?? '';
  take(await post('/mcp/oauth/token', { grant_type: 'authorization_code', code, code_verifier: pending.verifier, redirect_uri: BASE.href }));
}

/** @param {any} issued */
function take(issued) {
  tokens = { access: issued.access_token, refresh: issued.refresh_token ?? null, until: Date.now() + issued.expires_in * 1000 };
}

/** Renew the token; who asks meanwhile waits for the same renewal, because a refresh token is good once. */
function renew() {
  renewal ??= (async () => {
    const refresh = tokens?.refresh;
    if (tokens) tokens.refresh = null;
    const answer = await send('/mcp/oauth/token', {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: refresh }),
    });
    if (answer.ok) take(await answer.json());
  })().finally(() => { renewal = null; });
  return renewal;
}

/** End the connection at the service, and forget the tokens. */
export async function logout() {
  const token = tokens?.refresh ?? tokens?.access;
  tokens = null;
  if (token) await post('/mcp/oauth/revoke', { token });
}
