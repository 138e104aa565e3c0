// What programs were allowed and asked for: subscriptions to changes, and grants of agents that sign.
import { html, useState } from '../vendor/preact.js';
import { Revoke } from './account.js';
import { isOffered, post, remove } from './api.js';
import { Json, Problem, Time, Waiting, quietly, useLoad, useTitle, words } from './parts.js';

const SUBSCRIPTIONS = '/subscriptions?limit=100';
const GRANTS = '/agents/grants?limit=100';

export function Programs() {
  useTitle('Programs');
  const loaded = useLoad('programs', async (signal) => {
    const [subscriptions, grants] = await Promise.all([quietly(SUBSCRIPTIONS, signal), quietly(GRANTS, signal)]);
    return { subscriptions, grants };
  });
  const [deed, set] = useState(/** @type {any} */ (null));
  if (!loaded.data) return html`<h1>Programs</h1><${Waiting} loaded=${loaded} />`;
  const { subscriptions, grants } = loaded.data;
  return html`<h1>Programs</h1>${deed?.said && !deed.acts && html`<p class="done" role="status">${deed.said}</p>`}
    <section aria-labelledby="subscriptions"><h2 id="subscriptions">Subscriptions</h2>${subscriptions.error ? html`<${Problem} error=${subscriptions.error} />` : html`<${Subscriptions} list=${subscriptions.subscriptions} act=${set} />`}</section>
    <section aria-labelledby="grants"><h2 id="grants">Grants of agents</h2>${grants.error ? html`<${Problem} error=${grants.error} />` : html`<${Grants} list=${grants.grants} act=${set} />`}</section>
    ${deed?.acts && html`<${Revoke} deed=${deed} close=${() => set(null)} done=${(/** @type {any} */ what) => { set(what); loaded.reload(); }} />`}
    <${Json} answers=${{ [`GET ${SUBSCRIPTIONS}`]: subscriptions, [`GET ${GRANTS}`]: grants }} />`;
}

/** What a subscription is told of, in words. @param {any} subscription */
function about({ filter, query }) {
  if (query) return `what begins or ceases to fit ${Object.entries(query).map(([name, value]) => `${words(name)} ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', ')}`;
  return Object.entries(filter).map(([name, values]) => `${words(name)} ${/** @type {string[]} */ (values).join(', ')}`).join('; ') || 'every change';
}

/** @param {{list: any[], act: (deed: any) => void}} props */
function Subscriptions({ list, act }) {
  if (!list.length) return html`<p class="empty">Nobody is told of changes. <code>graphmem subscriptions add</code> tells a webhook, or a program that listens.</p>`;
  return html`<ul class="rows">${list.map((each) => html`<li key=${each.subscription_id}><span><b><bdi>${each.webhook_url ?? 'a program that listens'}</bdi></b> ${each.status !== 'active' && html`<span class="badge warn">${each.status}</span>`}
      <br /><span class="soft">is told of <bdi>${about(each)}</bdi>; since <${Time} at=${each.created_at} />${each.last_delivered_at && html`, last told <${Time} at=${each.last_delivered_at} />`} · <code>${each.subscription_id}</code></span>
      ${each.last_error && html`<br /><span class="soft">It failed ${each.failures} of ${each.max_failures} times: <bdi>${each.last_error}</bdi></span>`}</span>
    ${isOffered('POST /unsubscribe') && html`<button class="quiet" aria-label=${`End the subscription ${each.subscription_id}`} onClick=${() => act({ acts: [() => post('/unsubscribe', { subscription_id: each.subscription_id })], title: 'End this subscription?', about: 'Nothing more is told to it.', said: 'The subscription has ended.', verb: 'End it' })}>End …</button>`}</li>`)}</ul>`;
}

/** @param {{list: any[], act: (deed: any) => void}} props */
function Grants({ list, act }) {
  if (!list.length) return html`<p class="empty">No agent that signs has a grant of its own. <code>graphmem agents grant</code> makes one: it says what the agent may do.</p>`;
  const suspend = (/** @type {any} */ each, /** @type {boolean} */ undo) => ({
    acts: [() => post(`/agents/grants/${each.grant_id}/suspend`, /** @type {any} */ (undo ? { undo } : {}))], title: `${undo ? 'Allow' : 'Suspend'} this grant${undo ? ' again' : ''}?`,
    about: `${each.label} may ${undo ? 'do again what the grant says' : 'do nothing by it until you allow it again'}.`, said: `The grant is ${undo ? 'in force again' : 'suspended'}.`, verb: undo ? 'Allow' : 'Suspend',
  });
  const revoke = (/** @type {any} */ each) => ({ acts: [() => remove(`/agents/grants/${each.grant_id}`)], title: 'Revoke this grant?', about: `${each.label} may do nothing by it any more.`, said: 'The grant is revoked.', verb: 'Revoke' });
  return html`<ul class="rows">${list.map((each) => html`<li key=${each.grant_id}><span><b><bdi>${each.label}</bdi></b> ${each.status !== 'active' && html`<span class="badge warn">${each.status}</span>`}
      <br /><span class="soft">may ${each.capabilities.map((/** @type {any} */ one) => `${one.op}${one.entity_types?.length ? ` of ${one.entity_types.join(', ')}` : ''}`).join('; ')}; <bdi>${[each.thumbprint && `key ${each.thumbprint}`, each.issuer, each.subject].filter(Boolean).join(', ')}</bdi>; since <${Time} at=${each.created_at} /></span></span>
    ${each.status !== 'revoked' && isOffered('POST /agents/grants/{grant_id}/suspend') && html`<span class="deeds"><button class="quiet" aria-label=${`${each.status === 'active' ? 'Suspend' : 'Allow'} the grant of ${each.label}`} onClick=${() => act(suspend(each, each.status !== 'active'))}>${each.status === 'active' ? 'Suspend' : 'Allow again'} …</button> <button class="quiet" aria-label=${`Revoke the grant of ${each.label}`} onClick=${() => act(revoke(each))}>Revoke …</button></span>`}</li>`)}</ul>`;
}
