// Goal: a stream is requested again whenever another shard, another run of it or another epoch sends it, and not otherwise.
import { expect, it } from 'vitest';
import { isSameSource, type StreamSource } from '../../../../actors/cluster/delivery/guildstream.ts';
import type { Peer } from '../../../../actors/cluster/delivery/peer.ts';

const owner = (epoch: number) => ({ shardId: 'b', instance: 'b1', epoch });
const peer = (peerEpoch: number): Peer => ({ shardId: 'b', instance: 'b1', peerEpoch, sessions: new Map() });
const [first, second] = [peer(1), peer(2)];
const here = (epoch: number): StreamSource => ({ from: 'here', owner: owner(epoch) });
const there = (by: Peer, epoch: number): StreamSource => ({ from: 'peer', peer: by, owner: owner(epoch) });

it.each([
  ['nobody and nobody', { from: 'nobody', last: null }, { from: 'nobody', last: first }, true],
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
