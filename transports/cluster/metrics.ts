import type { ClusterRouter } from '../../actors/cluster/routing/router.ts';
import type { Metric } from '../../protocol/metrics.ts';
import type { GrpcLinks } from './links.ts';

/** Bytes queued for all other shards. */
export const bytesWaiting = (links: GrpcLinks): number =>
  links.metrics().peers.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0);

/** Metrics of the traffic between this shard and others, and of its queues. */
export function linkMetrics(links: GrpcLinks, router: ClusterRouter, linkBytesMax: number): Metric[] {
  return [
    {
      name: 'guildhall_calls_waiting',
      help: 'Calls waiting for their aggregate to get an owner.',
      max: router.metrics.waitingMax,
      read: () => router.metrics.waiting,
    },
    {
      name: 'guildhall_told_waiting',
      help: 'One-way messages waiting for their aggregate to get an owner.',
      max: router.metrics.waitingMax,
      read: () => router.metrics.held,
    },
    {
      name: 'guildhall_told_lost',
      help: 'One-way messages dropped because their aggregate got no owner in time.',
      read: () => router.metrics.lost,
    },
    {
      name: 'guildhall_calls_not_served',
      help: 'Calls refused because their aggregate got no owner in time.',
      read: () => router.metrics.notServed,
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
      read: () => links.metrics().peers.filter(({ connected }) => connected).length,
    },
    {
      name: 'guildhall_link_questions',
      help: 'Requests to other shards.',
      read: () => links.metrics().asks,
    },
    {
      name: 'guildhall_link_questions_under_way',
      help: 'Requests of other shards in progress.',
      read: () => links.metrics().asksUnderWay,
    },
    { name: 'guildhall_link_frames', help: 'Frames to other shards.', read: () => links.metrics().tells },
    {
      name: 'guildhall_link_breaks',
      help: 'Streams to or from other shards that lost frames.',
      read: () => links.metrics().breaks,
    },
    {
      name: 'guildhall_link_refusals',
      help: 'Refused handshakes, on either side.',
      read: () => links.metrics().refusals,
    },
  ];
}
