// Goal: a stream is requested again whenever another shard, another run of it or another epoch sends it, and not otherwise.
import { expect, it } from 'vitest';
import {
  isSameSource,
  isSentBySource,
  newGuildStream,
  type StreamSource,
} from '../../../../actors/cluster/delivery/guildstream.ts';
import type { Peer } from '../../../../actors/cluster/delivery/peer.ts';
import type { GuildId } from '../../../../protocol/ids.ts';

const owner = (epoch: number) => ({ shardId: 'b', instance: 'b1', epoch });
const peer = (peerEpoch: number): Peer => ({ shardId: 'b', instance: 'b1', peerEpoch, sessions: new Map() });
const [first, second] = [peer(1), peer(2)];
const here = (epoch: number): StreamSource => ({ from: 'here', owner: owner(epoch) });
const there = (by: Peer, epoch: number): StreamSource => ({ from: 'peer', peer: by, owner: owner(epoch) });

it.each([
  [
    'nobody and nobody',
    { from: 'nobody', last: null },
    { from: 'nobody', last: { peer: first, owner: owner(1) } },
    true,
  ],
  ['nobody and this shard', { from: 'nobody', last: null }, here(1), false],
  ['this shard under one epoch', here(1), here(1), true],
  ['this shard under two epochs', here(1), here(2), false],
  ['this shard and another', here(1), there(first, 1), false],
  ['a shard under one epoch', there(first, 1), there(first, 1), true],
  ['a shard under two epochs', there(first, 1), there(first, 2), false],
  ['a shard before and after a break of the link', there(first, 1), there(second, 1), false],
] as const)('%s are judged as the same source or not', (_, before, now, isSame) => {
  expect(isSameSource(before, now)).toBe(isSame);
});

it.each([
  ['its source', there(first, 2), first, 2, true],
  ['its source, which does not name its epoch', there(first, 2), first, null, true],
  ['an earlier epoch of its source', there(first, 2), first, 1, false],
  ['its source before a break of the link', there(second, 2), first, 2, false],
  ['the last source', { from: 'nobody', last: { peer: first, owner: owner(2) } }, first, 2, true],
  [
    'an earlier epoch of the last source',
    { from: 'nobody', last: { peer: first, owner: owner(2) } },
    first,
    1,
    false,
  ],
  ['a shard although this one is the source', here(2), first, 2, false],
] as const)('a dispatch of %s is of the stream or not', (_, source, by, epoch, isOfStream) => {
  expect(isSentBySource({ ...newGuildStream('9' as GuildId), source }, by, epoch)).toBe(isOfStream);
});
