import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type ApplicationId, isApplicationId, isSkuId } from '../../protocol/ids.ts';
import { SKU_FLAG, SKU_TYPE, type Sku } from '../../protocol/premium.ts';
import {
  errorSummary,
  field,
  form,
  hidden,
  type Messages,
  messagesOf,
  NO_MESSAGES,
  notice,
  type PageAnswer,
  page,
  redirect,
} from './frame.ts';
import { type Html, html, type Part } from './html.ts';
import { priceWords } from './pricewords.ts';
import type { PageRoutes, SignedInCall } from './routes.ts';
import { statusOf } from './signing.page.ts';

/** Confirmations by the keyword in the URL. */
const DONE: Readonly<Record<string, string>> = {
  added: 'Added. People can get it once you publish it.',
  renamed: 'Renamed.',
  published: 'Published: people can get it.',
  withdrawn: 'Withdrawn: it is no longer available. People who have it keep it.',
};

const TYPES = {
  durable: 'something that is kept',
  consumable: 'something that is used once',
  subscription: 'a subscription',
} as const;
const OWNERS = { user: 'people', guild: 'servers' } as const;
const KINDS: Readonly<Record<number, string>> = {
  [SKU_TYPE.DURABLE]: 'Something that is kept',
  [SKU_TYPE.CONSUMABLE]: 'Something that is used once',
  [SKU_TYPE.SUBSCRIPTION]: 'A subscription',
};

export const manageStorePath = (applicationId: string): string => `/store/${applicationId}/manage`;

const pressed = (action: string, label: string, kind = ''): Html =>
  html`<div class="buttons"><button class="${kind}" name="do" value="${action}">${label}</button></div>`;

function skuPart(
  call: SignedInCall,
  { id, name, type, flags, price, ...sku }: Sku,
  messages: Messages,
): Html {
  const action = manageStorePath(sku.application_id);
  const isForSale = (flags & SKU_FLAG.AVAILABLE) !== 0;
  const isForGuilds = (flags & SKU_FLAG.GUILD) !== 0;
  return html`<section class="panel" aria-labelledby="sku-${id}"><h3 id="sku-${id}">${name}</h3>
<p>${KINDS[type]}${isForGuilds && ' for servers'}, ${isForSale ? 'for sale' : 'not for sale'}.
${price ? priceWords(price, type === SKU_TYPE.SUBSCRIPTION) : 'No price: the operator of this server sets it.'}</p>
<p class="hint">Its id is <code>${id}</code>.</p>
${form(action, call.frame, [
  hidden('sku', id),
  field({ id: `name-${id}`, name: 'name', label: 'Name', value: name, autocomplete: 'off' }, messages),
  pressed('rename', `Rename ${name}`, 'second'),
])}
${form(action, call.frame, [
  hidden('sku', id),
  isForSale ? pressed('withdraw', `Withdraw ${name}`, 'second') : pressed('publish', `Publish ${name}`),
])}
</section>`;
}

const choice = (id: string, label: string, options: Readonly<Record<string, string>>): Html =>
  html`<div class="field"><label for="${id}">${label}</label><select id="${id}" name="${id}">${Object.entries(
    options,
  ).map(([value, words]) => html`<option value="${value}">${words}</option>`)}</select></div>`;

const addForm = (call: SignedInCall, id: ApplicationId, messages: Messages): Part =>
  form(manageStorePath(id), call.frame, [
    field({ name: 'name', label: 'Name', autocomplete: 'off' }, messages),
    choice('type', 'It is', TYPES),
    choice('owner', 'A subscription is for', OWNERS),
    pressed('add', 'Add it'),
  ]);

/** @param messages By the ids of their fields. */
async function shown(call: SignedInCall, messages = NO_MESSAGES, status = 200): Promise<PageAnswer> {
  const id = applicationOf(call);
  const { catalog, applications } = call.deps;
  const found = id === null ? null : await catalog.list(id, call.browserSession.userId);
  if (id === null || found === null) return UNKNOWN;
  if (!found.ok) return notice('Not yours', `${found.refusal.message}.`.replace('..', '.'), null, 403);
  const done = Object.keys(DONE).find((keyword) => call.query.has(keyword));
  const skus = found.value.filter(({ type }) => type !== SKU_TYPE.GROUP);
  const body = html`${errorSummary(messages)}
${done !== undefined && html`<p class="done" role="status">${DONE[done]}</p>`}
<p><a href="/store/${id}">The store, as people see it</a></p>
${skus.map((sku) => skuPart(call, sku, messages))}
<section aria-labelledby="add-title"><h2 id="add-title">Add something</h2>${addForm(call, id, messages)}</section>`;
  const name = (await applications.get(id))?.name ?? id;
  return page(`What ${name} sells`, body, status);
}

const UNKNOWN = notice('No such store', 'There is no application with this address.', null, 404);

const applicationOf = ({ path }: SignedInCall): ApplicationId | null => {
  const id = path.split('/')[2] ?? '';
  return isApplicationId(id) ? id : null;
};

const isKeyOf = <Key extends string>(table: Readonly<Record<Key, unknown>>, key: string): key is Key =>
  Object.hasOwn(table, key);

async function acted(call: SignedInCall, id: ApplicationId): Promise<PageAnswer> {
  const { catalog } = call.deps;
  const { userId } = call.browserSession;
  const given = (name: string) => (call.fields.get(name) ?? '').slice(0, 200);
  const [skuId, name, action] = [given('sku'), given('name').trim(), given('do')];
  const answered = async (keyword: string, reply: Reply<unknown>, fieldId = 'name'): Promise<PageAnswer> => {
    if (reply.ok) return redirect(`${manageStorePath(id)}?${keyword}=1`);
    const messages = [...messagesOf(reply.refusal)].map(
      ([key, message]) => [key === 'name' ? fieldId : key, message] as const,
    );
    return shown(call, new Map(messages), statusOf(reply.refusal));
  };
  if (action === 'add') {
    const [type, owner] = [given('type'), given('owner')];
    if (!isKeyOf(TYPES, type) || !isKeyOf(OWNERS, owner)) return UNKNOWN;
    return answered('added', await catalog.create(id, userId, { name, type, owner }));
  }
  if (!isSkuId(skuId)) return UNKNOWN;
  const edited = (change: { name: string } | { available: boolean }) =>
    catalog.edit(id, userId, skuId, change);
  if (action === 'rename') return answered('renamed', await edited({ name }), `name-${skuId}`);
  if (action === 'publish') return answered('published', await edited({ available: true }));
  if (action === 'withdraw') return answered('withdrawn', await edited({ available: false }));
  return UNKNOWN;
}

/** Where the owner of an application, and the developers of its team, manage what it sells. */
export const catalogPages: PageRoutes = {
  '/store/:application/manage': {
    signedIn: true,
    get: (call) => shown(call),
    async post(call) {
      const id = applicationOf(call);
      return id === null ? UNKNOWN : acted(call, id);
    },
  },
};
