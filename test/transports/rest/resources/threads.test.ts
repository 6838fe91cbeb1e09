// Goal: a post of a forum stores the files of its first message only for callers who may send them.
import { beforeEach, describe, expect, it } from 'vitest';
import type { RoleId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { threads } from '../../../../transports/rest/resources/threads.ts';
import { backed, foundedGuild } from '../../../support/backed.ts';

function arrange() {
  const guild = foundedGuild();
  const stored: string[] = [];
  const api = backed(threads, guild, {
    read: { expressions: { owner: async () => null } },
    blobs: {
      put: async (key: string) => void stored.push(key),
      delete: async (key: string) => void stored.push(`deleted ${key}`),
    },
  });
  const text = [...guild.channels.values()].find(({ type }) => type === 0)!;
  guild.channels.set(text.id, { ...text, type: 15 } as never);
  const withhold = (bits: bigint) => {
    const role = guild.roles.get('1' as RoleId)!;
    guild.roles.set('1' as RoleId, { ...role, permissions: String(BigInt(role.permissions) & ~bits) });
  };
  const post = async (files: readonly object[]) => {
    const call = {
      params: { channel_id: text.id },
      body: { name: 'Post', message: { content: 'a' } },
      files,
    };
    const { status, body } = await api.as('11')('create_thread', call as never);
    return { status, code: (body as { code?: number }).code };
  };
  return { stored, withhold, post };
}

let on: ReturnType<typeof arrange>;
beforeEach(() => {
  on = arrange();
});

const FILE = {
  field: 'files[0]',
  filename: 'a.txt',
  contentType: 'text/plain',
  bytes: new TextEncoder().encode('hi'),
};

describe('create_thread in a forum', () => {
  it('stores the files of the first message', async () => {
    expect(await on.post([FILE])).toMatchObject({ status: 201 });
    expect(on.stored).toEqual([expect.stringMatching(/^attachments\//)]);
  });

  it.each([
    ['view the channel', P.VIEW_CHANNEL, 50001],
    ['send messages', P.SEND_MESSAGES, 50013],
    ['attach files', P.ATTACH_FILES, 50013],
  ])('stores nothing for a caller who may not %s', async (_, bits, code) => {
    on.withhold(bits);
    expect(await on.post([FILE])).toEqual({ status: 403, code });
    expect(on.stored).toEqual([]);
  });

  it('asks for no right to attach files without one', async () => {
    on.withhold(P.ATTACH_FILES);
    expect(await on.post([])).toMatchObject({ status: 201 });
  });
});
