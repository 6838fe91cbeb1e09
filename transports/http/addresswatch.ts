import type { InvalidCalls } from '../../engine/ratelimit/invalid.ts';
import { networkOf } from '../../protocol/addresses.ts';

/** The watch over addresses that keep trying in vain: one count for the REST interface, the gateways and the pages. */
export interface AddressWatch {
  /** Milliseconds for which the address is to be turned away; 0 when it is not. */
  blockedMs(address: string): number;
  /** Counts one attempt in vain. */
  count(address: string): void;
}

/** @param nowMs Monotonic milliseconds. */
export function addressWatch(invalid: InvalidCalls, nowMs: () => number): AddressWatch {
  return {
    blockedMs: (address) => invalid.blockedMs(networkOf(address), nowMs()),
    count: (address) => invalid.count(networkOf(address), nowMs()),
  };
}
