import type { ClusterRouter } from '../../actors/cluster/routing/router.ts';
import type { Figure } from '../../protocol/metrics.ts';
import type { GrpcLinks } from './links.ts';

/** Bytes queued for all other shards. */
export const bytesWaiting = (links: GrpcLinks): number =>
  links.figures().peers.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0);

/** Metrics of the traffic between this shard and others, and of its queues. */
export function linkFigures(links: GrpcLinks, router: ClusterRouter, linkBytesMax: number): Figure[] {
  return [
    {
      name: 'guildhall_calls_waiting',
      help: 'Calls waiting for their aggregate to get an owner.',
      max: router.figures.waitingMax,
      read: () => router.figures.waiting,
    },
    {
      name: 'guildhall_told_waiting',
      help: 'One-way messages waiting for their aggregate to get an owner.',
      max: router.figures.waitingMax,
      read: () => router.figures.held,
    },
    {
      name: 'guildhall_told_lost',
      help: 'One-way messages dropped because their aggregate got no owner in time.',
      read: () => router.figures.lost,
    },
    {
      name: 'guildhall_calls_not_served',
      help: 'Calls refused because their aggregate got no owner in time.',
      read: () => router.figures.notServed,
    },
    {
      name: 'guildhall_link_bytes_waiting',
      help: 'Bytes queued for other shards; the bound applies to each of them.',
      max: linkBytesMax,
      read: () => bytesWaiting(links),
    },
    {
      name: 'guildhall_links_open',
      help: 'Other shards with an established link.',
      read: () => links.figures().peers.filter(({ connected }) => connected).length,
    },
    {
      name: 'guildhall_link_questions',
      help: 'Requests to other shards.',
      read: () => links.figures().asks,
    },
    {
      name: 'guildhall_link_questions_under_way',
      help: 'Requests of other shards in progress.',
      read: () => links.figures().asksUnderWay,
    },
    { name: 'guildhall_link_frames', help: 'Frames to other shards.', read: () => links.figures().tells },
    {
      name: 'guildhall_link_breaks',
      help: 'Streams to or from other shards that lost frames.',
      read: () => links.figures().breaks,
    },
    {
      name: 'guildhall_link_refusals',
      help: 'Refused handshakes, on either side.',
      read: () => links.figures().refusals,
    },
  ];
}
