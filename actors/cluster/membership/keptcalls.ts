import type { Ownership } from '../../placement/ports.ts';
import type { CallLoading } from '../../privatechannel/callloading.ts';

interface CallKeepingPorts {
  readonly ownership: Ownership;
  readonly loading: Pick<CallLoading, 'searchLater'>;
}

/** Ownership changes within this window are handled together. */
const GATHER_MS = 100;

/** Continues the calls in private channels that move to this shard. */
export function keepCalls({ ownership, loading }: CallKeepingPorts): void {
  ownership.onChange(({ moved }) => {
    const { self, view } = ownership;
    if (moved.some((each) => view.owners[each]?.instance === self?.instance)) loading.searchLater(GATHER_MS);
  });
}

/** Continues, or ends, the calls that the last process left. The search waits until the server is composed. */
export const keepCallsHere = ({ loading }: CallKeepingPorts): void => loading.searchLater(GATHER_MS);
