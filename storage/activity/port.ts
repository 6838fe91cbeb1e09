import type { ActivityInstance } from '../../engine/activity/instance.ts';

export interface ActivityStore {
  /** Running activities of a guild or private channel, oldest first. */
  ofOwner(ownerId: string): Promise<ActivityInstance[]>;
  /** Owners of running activities, by ascending id, those behind `after`. */
  owners(after: string | null, limit: number): Promise<string[]>;
}
