// Goal: a stored file belongs to a message; refusals and unused copies leave no file behind, and no message loses one.
import type { APIAttachment } from 'discord-api-types/v10';
import { describe, expect, test } from 'vitest';
import type { ForwardSource, Written } from '../../../engine/channel/draft.ts';
import { type Reply, refused } from '../../../engine/kernel/aggregate.ts';
import type { ChannelId, FreshId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import {
  createMessageFiles,
  type NewFile,
  type UploadedImage,
} from '../../../services/channels/messagefiles.ts';
import { openMemoryBlobs } from '../../../storage/blob/blobs.memory.ts';
import { id } from '../../support/guild.ts';
import { storedMessage } from '../../support/messages.ts';

const CHANNEL = id<ChannelId>(50);
const SOURCE = id<ChannelId>(60);
const place = { channelId: CHANNEL, fits: async (bytes: number) => bytes <= 10 };

const fileKey = (channelId: string, attachmentId: string, filename: string) =>
  `${channelId}/${attachmentId}/${filename}`;

function open(isExplicit?: (image: UploadedImage) => boolean) {
  const blobs = openMemoryBlobs();
  let lastId = 100;
  const nextId = () => id<FreshId>(++lastId);
  const files = createMessageFiles({ blobs, nextId, fileKey, isExplicit });
  const isStored = async (key: string) => (await blobs.head(key)) !== null;
  return { blobs, files, isStored };
}

function fileOf(fileId: string, size = 3, imageType: string | null = null): NewFile {
  const filename = `${fileId}.txt`;
  const attachment = { id: fileId, filename, content_type: 'text/plain' } as APIAttachment;
  return { attachment, bytes: new Uint8Array(size), sentAs: `sent ${filename}`, imageType };
}

/** The result of a command whose message shows these files. */
const wrote = (files: readonly { readonly id: string; readonly filename: string }[]): Reply<Written> => ({
  ok: true,
  value: {
    ...{ ownerId: '1', guildId: null, nonce: null },
    message: storedMessage(CHANNEL, '2', { files: files.map(({ id, filename }) => ({ id, filename })) }),
  },
});

describe('files of a command', () => {
  test('are stored before the command runs, and stay when the message shows them', async () => {
    const { files, isStored } = open();
    const sent = { files: [fileOf('1'), fileOf('2')], forward: null };
    const reply = await files.using(place, sent, async (attachments) => {
      expect(await isStored('50/2/2.txt')).toBe(true);
      return wrote(attachments);
    });
    expect(reply.ok).toBe(true);
    expect(await isStored('50/1/1.txt')).toBe(true);
  });

  test.each([
    ['when the command is refused', refused(refusal('MISSING_PERMISSIONS'))],
    ['when the message repeats an earlier one without them', wrote([])],
  ])('are deleted %s', async (_, reply) => {
    const { files, isStored } = open();
    expect(await files.using(place, { files: [fileOf('1')], forward: null }, async () => reply)).toBe(reply);
    expect(await isStored('50/1/1.txt')).toBe(false);
  });

  test('stay after a fault, because the message may have been committed', async () => {
    const { files, isStored } = open();
    const run = files.using(place, { files: [fileOf('1')], forward: null }, () =>
      Promise.reject(new Error('connection lost')),
    );
    await expect(run).rejects.toThrow('connection lost');
    expect(await isStored('50/1/1.txt')).toBe(true);
  });

  test('are refused with 40005, and none is stored, if one is too large', async () => {
    const { files, isStored } = open();
    const both = [fileOf('1'), fileOf('2', 11)];
    const ran = await files.using(place, { files: both, forward: null }, async () => wrote([]));
    expect(ran).toMatchObject({ refusal: { code: 40_005 } });
    expect(await files.store(place, both)).toMatchObject({ refusal: { code: 40_005 } });
    expect(await isStored('50/1/1.txt')).toBe(false);
  });

  test.each([
    ['an image where images are classified', { classifiesImages: true }, 'image/png', true],
    ['an image where images are not classified', {}, 'image/png', false],
    ['a file that is no image', { classifiesImages: true }, null, false],
  ])('show the embedding program %s: %o', async (_, more, imageType, expected) => {
    const shown: string[] = [];
    const { files } = open(({ filename }) => shown.push(filename) > 0);
    const sent = { files: [fileOf('1', 3, imageType)], forward: null };
    await files.using({ ...place, ...more }, sent, async (attachments, _forward, isExplicit) => {
      expect(isExplicit).toBe(expected);
      return wrote(attachments);
    });
    expect(shown).toEqual(expected ? ['sent 1.txt'] : []);
  });
});

describe('files of a forwarded message', () => {
  const url = 'http://here/attachments/60/7/cat.png';
  const attachment = { id: '7', filename: 'cat.png', url } as APIAttachment;
  const message = storedMessage(SOURCE, '2', {
    attachments: [attachment],
    files: [{ id: '7', filename: 'cat.png' }],
  });
  const forward: ForwardSource = { message, guildId: null };

  test('are copied under new ids, and the forward refers to the copies', async () => {
    const { blobs, files, isStored } = open();
    await blobs.put(fileKey(SOURCE, '7', 'cat.png'), Uint8Array.of(1, 2), 'image/png');
    await files.using(place, { files: [], forward }, async (_, copied) => {
      expect(copied?.files).toEqual([{ id: '101', filename: 'cat.png' }]);
      const copy = { id: '101', url: 'http://here/attachments/50/101/cat.png' };
      expect(copied?.message.attachments).toMatchObject([copy]);
      return wrote(copied?.files ?? []);
    });
    expect(await isStored('50/101/cat.png')).toBe(true);
    expect(await isStored('60/7/cat.png')).toBe(true);
  });

  test('are not copied if the original no longer exists', async () => {
    const { files } = open();
    await files.using(place, { files: [], forward }, async (_, copied) => {
      expect(copied).toBe(forward);
      return wrote([]);
    });
  });
});
