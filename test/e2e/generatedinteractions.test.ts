// Goal: whatever people, bots and webhooks send of interactions, the server has no fault and a stock client reads all it is sent.
// GENERATED sets how many bodies there are, SEED which.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { InteractionBot } from '../support/interactionbot.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

const GENERATED = Number(process.env.GENERATED ?? 600);
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const AT_ONCE = 20;
const BODY_TIMEOUT_MS = 60;

let server: TestServer;
let bot: InteractionBot;
let ann: Person;
let hook: { readonly id: string; readonly token: string };
const errors: unknown[] = [];
/** How many bodies were accepted. */
let accepted = 0;

beforeAll(async () => {
  server = await startServer({ relayed: false });
  bot = await InteractionBot.of(server);
  bot.client.on('error', (error) => errors.push(error));
  ann = await Person.of(server);
  const params = { channel_id: server.info.guild.text_channel_id };
  hook = (await server.bot().ask<typeof hook>('create_webhook', { params, body: { name: 'Herald' } })).body;
});

afterAll(async () => {
  ann?.close();
  await bot?.close();
  await server?.finish();
});

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 120 }),
  fc.constantFrom('', '\0', 'x'.repeat(2_001), '__proto__', '<@1>', '@everyone', '-1', '00'),
);
const wild = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, -1, 1.5, 2 ** 53, null, true, [], {}) },
);

/** A value that fits, or anything. */
const orWild = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 6, arbitrary }, { weight: 1, arbitrary: wild });

const everyOptions = () => {
  const { guild, users } = server.info;
  const value = (type: number, name: string, good: fc.Arbitrary<unknown>) =>
    fc.record({ type: orWild(fc.constant(type)), name: orWild(fc.constant(name)), value: orWild(good) });
  return fc.tuple(
    value(3, 'text', fc.string({ maxLength: 5 })),
    fc
      .subarray([
        value(4, 'count', fc.integer({ min: 1, max: 9 })),
        value(5, 'flag', fc.boolean()),
        value(6, 'user', fc.constant(users[1]?.id)),
        value(7, 'channel', fc.constant(guild.voice_channel_id)),
        value(8, 'role', fc.constant(guild.id)),
        value(9, 'any', fc.constant(users[0]?.id)),
        value(10, 'number', fc.double()),
      ])
      .chain((some) => fc.tuple(...some)),
  );
};

/** Messages of callbacks and webhooks: mostly good ones. */
const message = () => {
  const button = fc.record({
    type: fc.constant(2),
    style: orWild(fc.constantFrom(1, 2, 3, 4, 5)),
    custom_id: orWild(text),
    label: orWild(text),
  });
  return fc.record(
    {
      content: orWild(text),
      flags: orWild(fc.constantFrom(0, 4, 64, 1 << 15)),
      embeds: orWild(
        fc.array(fc.record({ title: orWild(text), description: orWild(text) }), { maxLength: 3 }),
      ),
      components: orWild(
        fc.array(fc.record({ type: fc.constant(1), components: fc.array(button, { maxLength: 3 }) }), {
          maxLength: 2,
        }),
      ),
      allowed_mentions: wild,
      tts: wild,
    },
    { requiredKeys: [] },
  );
};

interface Sending {
  readonly url: string;
  readonly body: unknown;
  readonly as?: string;
}

const invocation = (): fc.Arbitrary<Sending> => {
  const { api, guild, application, users } = server.info;
  const { id, version, name, type } = bot.command('every');
  const data = fc.oneof(
    everyOptions().map(([first, rest]) => ({ id, version, name, type, options: [first, ...rest] })),
    fc.record({ component_type: wild, custom_id: text, values: wild }),
    fc.dictionary(text, wild),
  );
  return fc
    .record({
      type: orWild(fc.constantFrom(2, 2, 2, 3, 4, 5)),
      application_id: orWild(fc.constant(application.id)),
      guild_id: orWild(fc.constant(guild.id)),
      channel_id: orWild(fc.constant(guild.text_channel_id)),
      session_id: orWild(fc.constant(ann.gateway.sessionId)),
      message_id: fc.option(wild, { nil: undefined }),
      data: orWild(data),
    })
    .map((body) => ({ url: `${api}/v10/interactions`, body, as: `Bearer ${users[0]?.token}` }));
};

const webhookBody = (): fc.Arbitrary<Sending> => {
  const url = `${server.info.api}/v10/webhooks/${hook.id}/${hook.token}`;
  const slack = fc.record({ text: wild, attachments: fc.array(fc.dictionary(text, wild), { maxLength: 3 }) });
  return fc.oneof(
    message().map((body) => ({ url: `${url}?wait=true`, body })),
    slack.map((body) => ({ url: `${url}/slack`, body })),
    fc.dictionary(text, wild).map((body) => ({ url: `${url}/github`, body })),
  );
};

/** The bot answers with generated callbacks, whole or broken. */
function answerWith(callbacks: readonly unknown[]): void {
  let at = 0;
  bot.answers(async ({ id, token, options }) => {
    // Reads all parts of the options that the client was sent.
    for (const name of ['user', 'channel', 'role', 'any', 'text', 'number']) options.get(name);
    const body = callbacks[at++ % callbacks.length];
    const response = await fetch(
      `${server.info.api}/v10/interactions/${id}/${token}/callback?with_response=true`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      },
    );
    await response.text();
    if (response.status >= 500) errors.push({ status: response.status, body });
  });
}

async function send({ url, body, as }: Sending): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(as && { authorization: as }) },
    body: JSON.stringify(body),
  });
  await response.text();
  if (response.ok) accepted += 1;
  if (response.status >= 500) errors.push({ status: response.status, url, body });
}

test(
  'generated bodies cause no fault and no event that a stock client cannot read',
  async () => {
    const callback = fc.oneof(
      fc.record({ type: orWild(fc.constantFrom(4, 4, 5, 6, 7)), data: orWild(message()) }),
      fc.record({
        type: fc.constant(9),
        data: fc.record({ custom_id: orWild(text), title: orWild(text), components: wild }),
      }),
      fc.dictionary(text, wild),
    );
    answerWith(fc.sample(callback, { numRuns: 500, seed: SEED }));
    const sending = fc.oneof({ weight: 3, arbitrary: invocation() }, { weight: 1, arbitrary: webhookBody() });
    const bodies = fc.sample(sending, { numRuns: GENERATED, seed: SEED });
    for (let at = 0; at < bodies.length; at += AT_ONCE)
      await Promise.all(bodies.slice(at, at + AT_ONCE).map(send));
    // Without any good one, nothing would be tried; how many there are is the seed's chance.
    expect(accepted, `seed ${SEED}`).toBeGreaterThan(GENERATED / 100);
    expect({ seed: SEED, errors, problems: bot.problems }).toEqual({ seed: SEED, errors: [], problems: [] });
  },
  30_000 + GENERATED * BODY_TIMEOUT_MS,
);
