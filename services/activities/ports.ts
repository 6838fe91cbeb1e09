import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { ActivityLocation } from '../../protocol/activityinstances.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

/** A user's part in an activity, and its location. Plain data. */
export interface ActivityRequest extends ActivityLocation {
  /** The guild, or the private channel. */
  readonly ownerId: string;
  readonly applicationId: ApplicationId;
  readonly userId: UserId;
  /** One window of the user's client. Null when joining: a window is yet to be opened; when leaving: all of them. */
  readonly connectionId: string | null;
}

/** An activity, and what the user may do in its channel: decimal permission bits. */
interface JoinedActivity {
  readonly activity: object;
  readonly permissions: string;
}

/** Running activities in the wire's shape. Each is decided by the owner of its location. */
export interface RunningActivities {
  /**
   * Joins, launches or renews.
   *
   * @returns 10002 for an application without an activity, 50001 or 50013 without the permission, 409 when full.
   */
  join(request: ActivityRequest): Promise<Reply<JoinedActivity>>;
  /** Joins for a user whose window is yet to open. @returns the instance's id. */
  launch(request: Omit<ActivityRequest, 'connectionId'>): Promise<Reply<string>>;
  leave(request: ActivityRequest): Promise<void>;
  /** The activities that run in a channel that the user sees. */
  list(request: Omit<ActivityRequest, 'applicationId' | 'connectionId'>): Promise<Reply<object[]>>;
  /** An instance as a bot sees it; null for one that has ended, or of another application. */
  find(applicationId: ApplicationId, instanceId: string): Promise<object | null>;
}
