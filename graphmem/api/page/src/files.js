// What is done with files: store them by dropping them, interpret one again, withdraw and reinstate.
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { get, post, upload } from './api.js';
import { ChangeList, Dialog, Problem, Type, Waiting, count, many, useLoad, view } from './parts.js';

/** @typedef {{id: number, file: File, share: number, answer?: any, error?: any}} Sent a file on its way: the share of it that is sent */

const POLL_MS = 2000;
const WARNINGS = 20;

/** Store files that are dropped anywhere on the page, or chosen. @param {{stored: () => void}} props */
export function Drop({ stored }) {
  const [files, set] = useState(/** @type {Sent[]} */ ([]));
  const [isOver, over] = useState(false);
  const queue = useRef(Promise.resolve());
  const alter = (/** @type {number} */ id, /** @type {Partial<Sent>} */ now) => set((/** @type {Sent[]} */ known) => known.map((each) => (each.id === id ? { ...each, ...now } : each)));
  const take = (/** @type {Iterable<File>} */ chosen) => {
    const fresh = [...chosen].map((file) => ({ id: Math.random(), file, share: 0 }));
    set((/** @type {Sent[]} */ known) => [...known, ...fresh]);
    for (const { id, file } of fresh) {
      queue.current = queue.current
        .then(() => upload(file, (share) => alter(id, { share })))
        .then((answer) => { alter(id, { answer, share: 1 }); stored(); }, (error) => alter(id, { error }));
    }
  };
  useEffect(() => {
    const hasFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes('Files');
    const moved = (/** @type {DragEvent} */ event) => { if (hasFiles(event)) { event.preventDefault(); over(true); } };
    const left = (/** @type {DragEvent} */ event) => { if (!event.relatedTarget) over(false); };
    const dropped = (/** @type {DragEvent} */ event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      over(false);
      take(event.dataTransfer?.files ?? []);
    };
    window.addEventListener('dragover', moved);
    window.addEventListener('dragleave', left);
    window.addEventListener('drop', dropped);
    return () => { window.removeEventListener('dragover', moved); window.removeEventListener('dragleave', left); window.removeEventListener('drop', dropped); };
  }, []);
  return html`<section class=${isOver ? 'drop over' : 'drop'} aria-label="Store files">
    <p><label for="files">Store files</label> <input id="files" type="file" multiple onChange=${(/** @type {any} */ event) => { take(event.target.files); event.target.value = ''; }} /> <span class="soft">or drop them anywhere on this page.</span></p>
    <ul class="plain" aria-live="polite">${files.map((each) => html`<li key=${each.id}><${OnItsWay} sent=${each} /></li>`)}</ul>
  </section>`;
}

/** @param {{sent: Sent}} props */
function OnItsWay({ sent: { file, share, answer, error } }) {
  const name = file.name.slice(0, 200);
  if (error) return html`<bdi>${name}</bdi> <${Problem} error=${error} />`;
  if (answer) return html`<a href=${view(`/source/${encodeURIComponent(answer.source_id)}`)}><bdi>${name}</bdi></a> ${answer.deduplicated && html`<span class="soft">The same bytes were stored before.</span> `}<${Understood} run=${answer.interpretation} />`;
  return html`<bdi>${name}</bdi> <progress value=${share} max="1" aria-label=${`Sent of ${name}`}></progress> <span class="soft">${share < 1 ? `${Math.floor(share * 100)} %` : 'It is being read.'}</span>`;
}

/** What the service read in a file, in a sentence, and what of it was left. @param {{run: any}} props */
function Understood({ run: first }) {
  const [run, set] = useState(first);
  const isWaiting = ['pending', 'running'].includes(run?.status);
  useEffect(() => {
    if (!isWaiting) return undefined;
    const timer = setTimeout(() => get(`/interpretations/${run.interpretation_id}`).then(set, (error) => set({ status: 'failed', error_message: error.message })), POLL_MS);
    return () => clearTimeout(timer);
  }, [run]);
  if (!run) return html`<span>It is stored. This service reads nothing from files by itself.</span>`;
  if (isWaiting) return html`<span role="status">It is stored, and is being read …</span>`;
  if (run.status === 'failed') return html`<span>It is stored. Nothing was read from it: <bdi>${run.error_message}</bdi></span>`;
  const types = Object.entries(run.entities_by_type ?? {});
  const warnings = run.warnings ?? [];
  return html`<span>${run.unchanged ? 'The same interpreter has read the same bytes before, so nothing has changed.' : types.length > 0
    ? html`Understood as ${types.map(([type, number], index) => html`${index ? ', ' : ''}${count(/** @type {any} */ (number))} <${Type} type=${type} />`)}${run.relationships_created ? `, with ${many(run.relationships_created, 'new relationship')}` : ''}.`
    : `${many(run.observations_created ?? 0, 'observation')} of ${run.entities_created === 1 ? '1 entity' : `${count(run.entities_created ?? 0)} entities`} were read from it.`}
    ${run.passages > 0 && html` <span class="soft">${many(run.passages, 'passage')} of its text can be found.</span>`}</span>
    ${warnings.length > 0 && html`<details><summary>${many(warnings.length, 'remark')} on what was left</summary><ul class="values">${warnings.slice(0, WARNINGS).map((/** @type {string} */ each, /** @type {number} */ index) => html`<li key=${index}><bdi>${each}</bdi></li>`)}${warnings.length > WARNINGS && html`<li>and ${count(warnings.length - WARNINGS)} more</li>`}</ul></details>`}`;
}

/** Interpret a file again. @param {{id: string, close: () => void, done: () => void}} props */
export function Interpret({ id, close, done }) {
  const [force, set] = useState(false);
  const [state, go] = useState(/** @type {any} */ ({}));
  const run = () => {
    go({ busy: true });
    post('/reinterpret', { source_id: id, force }).then((answer) => { go({ answer }); done(); }, (error) => go({ error }));
  };
  return html`<${Dialog} title="Interpret this file again?" close=${close}>
    <p>The interpreter of its format reads it. Its reading takes the place of the one before, and counts less than what people and agents store.</p>
    ${!state.answer && html`<p><label><input type="checkbox" checked=${force} onChange=${(/** @type {any} */ event) => set(event.target.checked)} /> Read it even if the same interpreter has read the same bytes</label></p>`}
    ${state.error && html`<${Problem} error=${state.error} />`}
    ${state.answer && html`<p class="done" role="status"><${Understood} run=${state.answer} /></p>`}
    <div class="buttons">${!state.answer && html`<button class="strong" disabled=${state.busy} onClick=${run}>Interpret</button>`}<button onClick=${close}>${state.answer ? 'Close' : 'Cancel'}</button></div>
  </${Dialog}>`;
}

/**
 * Withdraw a file or one reading of it, or reinstate it: first what it would do.
 * @param {{what: string, path: string, isBack: boolean, close: () => void, done: () => void}} props
 */
export function Withdraw({ what, path, isBack, close, done }) {
  const deed = `${path}/${isBack ? 'reinstate' : 'withdraw'}`;
  const preview = useLoad(deed, (signal) => post(deed, { dry_run: true, limit: 50, max_characters: 200_000 }, signal));
  const [reason, write] = useState('');
  const [state, set] = useState(/** @type {any} */ ({}));
  const go = (/** @type {Event} */ event) => {
    event.preventDefault();
    set({ busy: true });
    post(deed, reason.trim() ? { reason: reason.trim() } : {}).then(done, (error) => set({ error }));
  };
  const counts = preview.data?.counts;
  return html`<${Dialog} title=${`${isBack ? 'Reinstate' : 'Withdraw'} this ${what}?`} close=${close}><form onSubmit=${go}>
    <p>${isBack ? 'What it said counts again.' : 'Nothing that it said counts any more. The file and the history stay, and it can be reinstated.'}</p>
    ${preview.data ? html`<p role="status">${many(counts.observations, 'observation')}, of ${counts.entities === 1 ? '1 entity' : `${count(counts.entities)} entities`} and ${many(counts.relationships, 'relationship')}, ${isBack ? 'would count again' : 'would count no more'}.</p>
      <div tabindex="0" role="region" aria-label="What would change"><${ChangeList} entities=${preview.data.entities} /></div>
      ${preview.data.next_cursor && html`<p class="soft">The first ${preview.data.entities.length} entities.</p>`}` : html`<${Waiting} loaded=${preview} />`}
    ${!isBack && html`<p><label>Why, if you want to say it${' '}<input class="wide" value=${reason} maxlength="500" dir="auto" onInput=${(/** @type {any} */ event) => write(event.target.value)} /></label></p>`}
    ${state.error && html`<${Problem} error=${state.error} />`}
    <div class="buttons"><button class="strong" disabled=${!preview.data || state.busy}>${isBack ? 'Reinstate' : 'Withdraw'}</button><button type="button" onClick=${close}>Cancel</button></div>
  </form></${Dialog}>`;
}
