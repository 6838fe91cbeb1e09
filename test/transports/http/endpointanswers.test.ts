// Goal: an answer in an HTTP response is read like an answer to the callback route, and leaves no file without a message.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChannelId, FreshId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { createMessageFiles } from '../../../services/channels/messagefiles.ts';
import type { Callback, CallbackResult } from '../../../services/interactions/ports.ts';
import { openMemoryBlobs } from '../../../storage/blob/blobs.memory.ts';
import { createAnswerReader } from '../../../transports/http/endpointanswers.ts';
import { attachmentKey } from '../../../transports/rest/image.ts';
import { id } from '../../support/guild.ts';

const CHANNEL = id<ChannelId>(50);

/** Reads answers; `shows` says whether the message shows the files that came with it. */
function open(shows: 'files' | 'nothing' | 'refused' = 'files') {
  const blobs = openMemoryBlobs();
  let lastId = 100;
  const nextId = () => id<FreshId>(++lastId);
  const messageFiles = createMessageFiles({ blobs, nextId, fileKey: attachmentKey });
  const read = createAnswerReader({
    ...{ messageFiles, nextId, publicUrl: () => 'http://here' },
  });
  const callbacks: Callback[] = [];
  const receive = (contentType: string | null, body: Uint8Array | string) =>
    read(
      { contentType, body: Buffer.from(body) },
      { channelId: CHANNEL, fileBytesMax: 1_000 },
      async (callback) => {
        callbacks.push(callback);
        if (shows === 'refused') return { ok: false, refusal: refusal('UNKNOWN_INTERACTION') };
        const files = shows === 'files' ? callback.attachments : [];
        const written = { message: { files } } as unknown as CallbackResult['written'];
        const result = { type: 2, activityInstanceId: null, written, isLoading: false, isEphemeral: false };
        return { ok: true, value: result as CallbackResult };
      },
    );
  const sendForm = async (form: FormData) => {
    const whole = new Response(form);
    return receive(whole.headers.get('content-type'), new Uint8Array(await whole.arrayBuffer()));
  };
  const isStored = async (one: { readonly id: string; readonly filename: string }) =>
    (await blobs.head(attachmentKey(CHANNEL, one.id, one.filename))) !== null;
  return { receive, sendForm, callbacks, isStored };
}

function formOf(payload: unknown, ...files: readonly string[]): FormData {
  const form = new FormData();
  if (payload !== undefined) form.set('payload_json', JSON.stringify(payload));
  for (const [index, content] of files.entries())
    form.set(`files[${index}]`, new Blob([content]), `file${index}.txt`);
  return form;
}

const message = { type: 4, data: { content: 'words' } };

describe('an answer by HTTP', () => {
  test.each(['application/json', 'application/json; charset=utf-8', 'text/plain', null])(
    'is read as JSON with the content type %s',
    async (contentType) => {
      const { receive, callbacks } = open();
      expect((await receive(contentType, JSON.stringify(message))).ok).toBe(true);
      expect(callbacks).toMatchObject([{ type: 4, draft: { content: 'words' }, attachments: [] }]);
    },
  );

  test('stores the files of a form for its message', async () => {
    const { sendForm, callbacks, isStored } = open();
    const notes = [{ id: 1, description: 'second' }];
    const sent = { type: 4, data: { content: 'words', attachments: notes } };
    expect((await sendForm(formOf(sent, 'one', 'two'))).ok).toBe(true);
    const [{ attachments }] = callbacks as [Callback];
    expect(attachments).toMatchObject([
      { filename: 'file0.txt', size: 3, url: `http://here/attachments/50/${attachments[0]?.id}/file0.txt` },
      { filename: 'file1.txt', description: 'second' },
    ]);
    expect(await Promise.all(attachments.map(isStored))).toEqual([true, true]);
  });

  test.each(['nothing', 'refused'] as const)(
    'deletes its files when they are not shown (%s)',
    async (shows) => {
      const { sendForm, callbacks, isStored } = open(shows);
      expect((await sendForm(formOf(message, 'one'))).ok).toBe(shows === 'nothing');
      expect(await isStored(callbacks[0]!.attachments[0]!)).toBe(false);
    },
  );

  test.each<[string, FormData]>([
    ['a file above the size limit', formOf(message, 'x'.repeat(1_001))],
    ['eleven files', formOf(message, ...Array<string>(11).fill('x'))],
    ['no payload_json', formOf(undefined, 'one')],
    ['an unknown callback type', formOf({ type: 11 }, 'one')],
    ['an attachment entry without its file', formOf({ type: 4, data: { attachments: [{ id: 3 }] } }, 'one')],
  ])('is rejected with %s', async (_, form) => {
    const { sendForm, callbacks } = open();
    expect((await sendForm(form)).ok).toBe(false);
    expect(callbacks).toEqual([]);
  });

  test('is rejected without a throw for random bytes', async () => {
    const { receive } = open();
    const type = fc.constantFrom(
      null,
      'application/json',
      'multipart/form-data',
      'multipart/form-data; boundary=b',
    );
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text)),
      fc
        .string()
        .map((text) =>
          Buffer.from(`--b\r\ncontent-disposition: form-data; name="payload_json"\r\n\r\n${text}`),
        ),
    );
    await fc.assert(
      fc.asyncProperty(type, body, async (contentType, bytes) => {
        expect((await receive(contentType, bytes)).ok).toBe(false);
      }),
    );
  });
});
