import {
  type ApplicationId,
  isApplicationId,
  isGuildId,
  isSkuId,
  isSubscriptionId,
} from '../../protocol/ids.ts';
import { SUBSCRIPTION_STATUS } from '../../protocol/premium.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Good, Possession, Shop } from '../../services/premium/store.ts';
import { manageStorePath } from './catalog.page.ts';
import {
  errorSummary,
  field,
  form,
  hidden,
  type Messages,
  messagesOf,
  NO_MESSAGES,
  notice,
  type Page,
  type PageAnswer,
  page,
  redirect,
  time,
} from './frame.ts';
import { type Html, html, type Part } from './html.ts';
import { priceWords } from './pricewords.ts';
import type { PageRoutes, SignedInCall } from './routes.ts';
import { statusOf } from './signing.page.ts';

/** Confirmations by the keyword in the URL. */
const DONE: Readonly<Record<string, string>> = {
  paid: 'Thank you. What you bought appears here when the payment is confirmed, mostly within a minute.',
  cancelled: 'Cancelled. You have it until the end of the period that is paid.',
  changed: 'It changes with the next period.',
};

const storePath = (applicationId: string): string => `/store/${applicationId}`;

function buyForm(call: SignedInCall, shop: Shop, good: Good, messages: Messages): Part {
  if (good.price === null || !shop.takesMoney)
    return html`<p class="hint">Whoever runs this server gives it to you: it is not paid for here.</p>`;
  if (good.isForGuilds && shop.guilds.length === 0)
    return html`<p>It is for a server, and you are in none.</p>`;
  return form(storePath(shop.application.id), call.frame, [
    hidden('sku', good.id),
    good.isForGuilds
      ? html`<div class="field"><label for="guild-${good.id}">For the server</label>
<select id="guild-${good.id}" name="guild" required>${shop.guilds.map(
          ({ id, name }) => html`<option value="${id}">${name}</option>`,
        )}</select></div>`
      : field(
          {
            ...{
              id: `friend-${good.id}`,
              name: 'friend',
              label: 'For somebody else',
              hint: 'Their username. Leave it empty to buy it for yourself.',
            },
            ...{ autocomplete: 'off', optional: true },
          },
          messages,
        ),
    html`<div class="buttons"><button name="do" value="buy">Buy ${good.name}</button></div>`,
  ]);
}

const goodPart = (call: SignedInCall, shop: Shop, good: Good, messages: Messages): Html =>
  html`<section class="panel" aria-labelledby="sku-${good.id}"><h3 id="sku-${good.id}">${good.name}</h3>
${good.price !== null && html`<p>${priceWords(good.price, good.kind === 'subscription')}</p>`}
${good.kind === 'consumable' && html`<p class="hint">Used once; you can buy more.</p>`}
${buyForm(call, shop, good, messages)}</section>`;

function subscriptionPart(call: SignedInCall, shop: Shop, { subscription, choices }: Possession): Part {
  if (!subscription) return null;
  const { id, status, periodEndMs, renewalSkuId } = subscription;
  const action = storePath(shop.application.id);
  if (status === SUBSCRIPTION_STATUS.ENDING) return html`<p>It ends ${time(periodEndMs)}.</p>`;
  const next = shop.goods.find((good) => good.id === renewalSkuId);
  return html`<p>It is renewed ${time(periodEndMs)}${next && html`, as ${next.name}`}.</p>
${
  choices.length > 0 &&
  form(action, call.frame, [
    hidden('subscription', id),
    html`<div class="field"><label for="to-${id}">Change it to</label><select id="to-${id}" name="sku">${choices.map(
      (good) =>
        html`<option value="${good.id}">${good.name}${good.price && html`, ${priceWords(good.price, true)}`}</option>`,
    )}</select></div>`,
    html`<div class="buttons"><button class="second" name="do" value="change">Change with the next period</button></div>`,
  ])
}
${form(action, call.frame, [
  hidden('subscription', id),
  html`<div class="buttons"><button class="second" name="do" value="cancel">Cancel it</button></div>`,
])}`;
}

const possessionPart = (call: SignedInCall, shop: Shop, possession: Possession): Html =>
  html`<li class="panel"><strong>${possession.name}</strong>${
    possession.guildId !== null &&
    html` for ${shop.guilds.find(({ id }) => id === possession.guildId)?.name ?? 'a server'}`
  }${possession.sinceMs !== null && html`, since ${time(possession.sinceMs)}`}
${subscriptionPart(call, shop, possession)}</li>`;

function storeBody(call: SignedInCall, shop: Shop, messages: Messages, mayManage: boolean): Html {
  const { application, goods, yours } = shop;
  const done = Object.keys(DONE).find((keyword) => call.query.has(keyword));
  return html`${errorSummary(messages)}
${done !== undefined && html`<p class="done" role="status">${DONE[done]}</p>`}
${application.description !== '' && html`<p>${application.description}</p>`}
${yours.length > 0 && html`<h2>Yours</h2><ul class="list">${yours.map((each) => possessionPart(call, shop, each))}</ul>`}
<h2>For sale</h2>
${goods.length === 0 ? html`<p>Nothing is for sale.</p>` : goods.map((good) => goodPart(call, shop, good, messages))}
${mayManage && html`<p><a href="${manageStorePath(application.id)}">Manage what it sells</a></p>`}`;
}

const UNKNOWN = notice('No such store', 'There is no application with this address.', null, 404);

const applicationOf = ({ path }: SignedInCall): ApplicationId | null => {
  const id = path.split('/')[2] ?? '';
  return isApplicationId(id) ? id : null;
};

async function shown(call: SignedInCall, messages = NO_MESSAGES, status = 200): Promise<PageAnswer> {
  const id = applicationOf(call);
  const { store, catalog } = call.deps;
  const { userId } = call.browserSession;
  const shop = id && (await store.shop(id, userId));
  if (!shop) return UNKNOWN;
  const { ok: mayManage } = await catalog.list(shop.application.id, userId);
  return page(`Store of ${shop.application.name}`, storeBody(call, shop, messages, mayManage), status);
}

/** The page of the provider is on another host, so the person goes there by a link that names it. */
function payPage(url: string): Page {
  const { host } = new URL(url);
  return notice(
    'Pay',
    `You pay on a page of ${host}, which sees your card; this server does not.`,
    html`<p><a href="${url}">Go on to ${host}</a></p>`,
  );
}

async function acted(call: SignedInCall, id: ApplicationId): Promise<PageAnswer> {
  const { store } = call.deps;
  const { userId: viewerId } = call.browserSession;
  const given = (name: string) => (call.fields.get(name) ?? '').slice(0, 64);
  const refused = async ({ refusal }: { readonly refusal: Refusal }) => {
    const messages = [...messagesOf(refusal)].map(
      ([key, text]) => [key === 'friend' ? `friend-${given('sku')}` : key, text] as const,
    );
    return shown(call, new Map(messages), statusOf(refusal));
  };
  const subscriptionId = given('subscription');
  switch (given('do')) {
    case 'buy': {
      const guild = given('guild');
      const skuId = given('sku');
      if (!isSkuId(skuId)) return UNKNOWN;
      const guildId = isGuildId(guild) ? guild : null;
      const reply = await store.buy(id, { viewerId, skuId, friend: given('friend'), guildId });
      return reply.ok ? payPage(reply.value.url) : refused(reply);
    }
    case 'cancel': {
      if (!isSubscriptionId(subscriptionId)) return UNKNOWN;
      const reply = await store.cancel(id, viewerId, subscriptionId);
      return reply.ok ? redirect(`${storePath(id)}?cancelled=1`) : refused(reply);
    }
    case 'change': {
      const skuId = given('sku');
      if (!isSubscriptionId(subscriptionId) || !isSkuId(skuId)) return UNKNOWN;
      const reply = await store.change(id, viewerId, { subscriptionId, skuId });
      return reply.ok ? redirect(`${storePath(id)}?changed=1`) : refused(reply);
    }
    default:
      return UNKNOWN;
  }
}

/** The store of each application: what it sells, and what the viewer has of it. */
export const storePages: PageRoutes = {
  '/store/:application': {
    signedIn: true,
    get: (call) => shown(call),
    async post(call) {
      const id = applicationOf(call);
      return id === null ? UNKNOWN : acted(call, id);
    },
  },
};
