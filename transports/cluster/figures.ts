import type { ClusterRouter } from '../../actors/cluster/routing/router.ts';
import type { Figure } from '../../protocol/metrics.ts';
import type { GrpcLinks } from './links.ts';

/** Bytes that wait for all other shards. */
export const bytesWaiting = (links: GrpcLinks): number =>
  links.figures().peers.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0);

/** What passes between this shard and others, and what waits for it. */
export function linkFigures(links: GrpcLinks, router: ClusterRouter, linkBytesMax: number): Figure[] {
  return [
    {
      name: 'guildhall_calls_waiting',
      help: 'Calls that wait for somebody to own what they concern.',
      max: router.figures.waitingMax,
      read: () => router.figures.waiting,
    },
    {
      name: 'guildhall_told_waiting',
      help: 'Messages to an owner, without an answer, that wait for somebody to be it.',
      max: router.figures.waitingMax,
      read: () => router.figures.held,
    },
    {
      name: 'guildhall_told_lost',
      help: 'Messages to an owner that found none in time.',
      read: () => router.figures.lost,
    },
    {
      name: 'guildhall_calls_not_served',
      help: 'Calls that found nobody to decide them in time.',
      read: () => router.figures.notServed,
    },
    {
      name: 'guildhall_link_bytes_waiting',
      help: 'Bytes that wait for other shards; the bound is for each of them.',
      max: linkBytesMax,
      read: () => bytesWaiting(links),
    },
    {
      name: 'guildhall_links_open',
      help: 'Other shards that this one is linked to.',
      read: () => links.figures().peers.filter(({ connected }) => connected).length,
    },
    {
      name: 'guildhall_link_questions',
      help: 'Questions to other shards.',
      read: () => links.figures().asks,
    },
    {
      name: 'guildhall_link_questions_under_way',
      help: 'Questions of other shards that are being worked on.',
      read: () => links.figures().asksUnderWay,
    },
    { name: 'guildhall_link_frames', help: 'Frames to other shards.', read: () => links.figures().tells },
    {
      name: 'guildhall_link_breaks',
      help: 'Streams between this shard and others of which something is missing.',
      read: () => links.figures().breaks,
    },
    {
      name: 'guildhall_link_refusals',
      help: 'Times that a shard was refused, here or by another.',
      read: () => links.figures().refusals,
    },
  ];
}
