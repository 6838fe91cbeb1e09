// Goal: unmodified eris and oceanic.js bots answer commands, buttons, forms and autocompletes of people.
import http from 'node:http';
import Eris from 'eris';
import { Client, ComponentTypes, InteractionTypes, ModalSubmitInteraction } from 'oceanic.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

const EPHEMERAL = 1 << 6;

let server: TestServer;
let ann: Person;
let command: { id: string; version: string; name: string; type: number };

beforeAll(async () => {
  server = await startServer();
  const made = await server.bot().ask<typeof command>('create_application_command', {
    params: { application_id: server.info.application.id },
    body: {
      ...{ name: 'ping', description: 'Answers.' },
      options: [{ type: 3, name: 'text', description: 't', autocomplete: true }],
    },
  });
  command = made.body;
  ann = await Person.of(server);
});

afterAll(async () => {
  ann?.close();
  await server?.finish();
});

const typed = (value: string) => [{ type: 3, name: 'text', value }];

/** Eris always asks for https. */
const plainAgent = (port: number): http.Agent =>
  Object.assign(new http.Agent(), { protocol: 'https:', defaultPort: port });

test('eris answers a command, its button and an autocomplete, defers, and follows up', async () => {
  const { api, bot } = server.info;
  const { hostname, port, pathname } = new URL(api);
  const client = Eris(`Bot ${bot.token}`, {
    intents: ['guilds'],
    rest: {
      domain: hostname,
      baseURL: `${pathname}/v10`,
      agent: plainAgent(Number(port)) as unknown as import('node:https').Agent,
    },
  });
  const errors: unknown[] = [];
  client.on('error', (error) => errors.push(error));
  client.on('interactionCreate', async (one) => {
    try {
      if ('result' in one) return await one.result([{ name: 'Red', value: 'red' }]);
      if ('editParent' in one) return await one.editParent({ content: 'pressed', components: [] });
      if (!('createFollowup' in one) || !('defer' in one) || !('options' in one.data)) return;
      const [option] = one.data.options ?? [];
      const text = option && 'value' in option ? String(option.value) : '';
      if (text === 'later') {
        await one.defer();
        await one.editOriginalMessage('at last');
        await one.createFollowup({ content: 'more', flags: EPHEMERAL });
      } else
        await one.createMessage({
          content: `pong ${text}`,
          components: [{ type: 1, components: [{ type: 2, style: 1, custom_id: 'go', label: 'Go' }] }],
        });
    } catch (error) {
      errors.push(error);
    }
  });
  const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
  await client.connect();
  await ready;
  const { id } = await ann.slash(command, typed('eris'));
  const message = await ann.answer(id);
  expect(message.content).toBe('pong eris');
  await ann.click(message, 'go');
  expect((await ann.update(message.id)).content).toBe('pressed');
  const later = await ann.slash(command, typed('later'));
  const loading = await ann.answer(later.id);
  expect((await ann.update(loading.id)).content).toBe('at last');
  expect(await ann.answer(later.id)).toMatchObject({ content: 'more', flags: EPHEMERAL });
  const { id: commandId, version, name, type } = command;
  const options = [{ type: 3, name: 'text', value: 'r', focused: true }];
  await ann.ask({ type: 4, nonce: 'eris', data: { id: commandId, version, name, type, options } });
  const { choices } = await ann.hears('APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE', 'eris');
  expect(choices).toEqual([{ name: 'Red', value: 'red' }]);
  expect(errors).toEqual([]);
  client.disconnect({ reconnect: false });
});

test('oceanic.js answers a command with a form, and the form with a hidden message and a follow-up', async () => {
  const { api, bot } = server.info;
  const client = new Client({
    auth: `Bot ${bot.token}`,
    gateway: { intents: ['GUILDS'] },
    rest: { baseURL: `${api}/v10` },
  });
  const errors: unknown[] = [];
  client.on('error', (error) => errors.push(error));
  client.on('interactionCreate', async (one) => {
    try {
      if (one instanceof ModalSubmitInteraction) {
        await one.createMessage({ content: 'thank you', flags: EPHEMERAL });
        await one.createFollowup({ content: 'for all' });
      } else if (one.type === InteractionTypes.APPLICATION_COMMAND)
        await one.createModal({
          ...{ customID: 'form', title: 'Feedback' },
          components: [
            {
              type: ComponentTypes.ACTION_ROW,
              components: [{ type: ComponentTypes.TEXT_INPUT, customID: 'words', label: 'Words', style: 1 }],
            },
          ],
        });
    } catch (error) {
      errors.push(error);
    }
  });
  const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
  await client.connect();
  await ready;
  const { id, nonce } = await ann.slash(command, typed('oceanic'));
  expect(await ann.hears('INTERACTION_MODAL_CREATE', nonce)).toMatchObject({ custom_id: 'form' });
  const rows = [{ type: 1, components: [{ type: 4, custom_id: 'words', value: 'fine' }] }];
  const sent = await ann.send({ type: 5, data: { id, custom_id: 'form', components: rows } });
  expect(await ann.answer(sent.id)).toMatchObject({ content: 'thank you', flags: EPHEMERAL });
  expect((await ann.answer(sent.id)).content).toBe('for all');
  expect(errors).toEqual([]);
  client.disconnect(false);
});
