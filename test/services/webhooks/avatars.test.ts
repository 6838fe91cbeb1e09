// Goal: a picture that messages of a webhook name is fetched once for many messages, and never costs a message.
import { expect, test } from 'vitest';
import { createWebhookAvatars } from '../../../services/webhooks/avatars.ts';

const MINUTE_MS = 60_000;

function open() {
  const state = { nowMs: 0, picture: Buffer.from('one') as Buffer | null, fails: false, isImage: true };
  const fetched: string[] = [];
  const saved: string[] = [];
  const avatars = createWebhookAvatars({
    async picture(url) {
      fetched.push(url);
      return state.picture;
    },
    async save(webhookId, bytes) {
      if (state.fails) throw new Error('The store of images fails.');
      saved.push(webhookId);
      return state.isImage ? `hash of ${Buffer.from(bytes)}` : null;
    },
    nowMs: () => state.nowMs,
  });
  return { state, fetched, saved, avatars };
}

test('a picture is fetched once an hour, however many messages name it', async () => {
  const { state, fetched, avatars } = open();
  const all = Array.from({ length: 5 }, () => avatars.at('7', 'https://a.example/x y.png'));
  expect(new Set(await Promise.all(all))).toEqual(new Set(['hash of one']));
  state.nowMs = 60 * MINUTE_MS - 1;
  state.picture = Buffer.from('two');
  expect(await avatars.at('7', 'https://a.example/x y.png')).toBe('hash of one');
  expect(fetched).toEqual(['https://a.example/x y.png']);
  state.nowMs += 1;
  expect(await avatars.at('7', 'https://a.example/x y.png')).toBe('hash of two');
});

test('each webhook stores the picture under its own id', async () => {
  const { saved, avatars } = open();
  await avatars.at('7', 'https://a.example/x.png');
  await avatars.at('8', 'https://a.example/x.png');
  expect(saved).toEqual(['7', '8']);
});

test('a picture that is absent, or no image, is tried again after a minute', async () => {
  const { state, fetched, avatars } = open();
  state.picture = null;
  expect(await avatars.at('7', 'https://a.example/x.png')).toBeNull();
  state.picture = Buffer.from('one');
  state.isImage = false;
  state.nowMs = MINUTE_MS - 1;
  expect(await avatars.at('7', 'https://a.example/x.png')).toBeNull();
  expect(fetched).toHaveLength(1);
  state.nowMs = MINUTE_MS;
  expect(await avatars.at('7', 'https://a.example/x.png')).toBeNull();
  state.isImage = true;
  state.nowMs = 2 * MINUTE_MS;
  expect(await avatars.at('7', 'https://a.example/x.png')).toBe('hash of one');
});

test('a failure of the store shows no avatar, and is forgotten', async () => {
  const { state, avatars } = open();
  state.fails = true;
  expect(await avatars.at('7', 'https://a.example/x.png')).toBeNull();
  state.fails = false;
  expect(await avatars.at('7', 'https://a.example/x.png')).toBe('hash of one');
});

test('does not fetch another picture while 200 are on their way', async () => {
  const fetched: string[] = [];
  const avatars = createWebhookAvatars({
    picture: (url) => {
      fetched.push(url);
      return new Promise(() => undefined);
    },
    save: async () => 'hash',
    nowMs: () => 0,
  });
  for (let n = 0; n < 200; n += 1) void avatars.at('7', `https://a.example/${n}.png`);
  expect(await avatars.at('7', 'https://a.example/more.png')).toBeNull();
  expect(fetched).toHaveLength(200);
});
