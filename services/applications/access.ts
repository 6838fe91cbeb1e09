import type { ApplicationAction } from '../../engine/application/teams.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { Teams } from './teams.ts';

/** The caller of an operation on an application. */
interface Requester {
  readonly kind: 'bot' | 'user';
  readonly userId: UserId;
  /** The bot's application, or the application that acts for the user. */
  readonly applicationId: ApplicationId | null;
  /** Null for bots and for users themselves; set when an application acts for the user. */
  readonly authorization: object | null;
}

/**
 * Decides which callers may use an application: the application itself (its bot, or the application acting for a user), and the
 * people who own it, alone or as a team. Others are refused with 20012.
 */
export interface ApplicationAccess {
  /** The refusal of a caller other than the application. */
  applicationRefusal(caller: Requester, id: ApplicationId): Refusal | null;
  /** The refusal of an application that acts for a user and is another one, and of another application's bot. */
  userOrApplicationRefusal(caller: Requester, id: ApplicationId): Refusal | null;
  /**
   * The application, if the caller is the application or a person who may do this with it; 10002 for an unknown one. An
   * application that acts for a user may only attach files: the user holds its token.
   */
  open(caller: Requester, id: ApplicationId, action: ApplicationAction): Promise<Reply<Application>>;
  /**
   * The users whose entitlements the caller may read: all users (`userId` null) for the application's bot and for people who
   * may do this with the application, else of the caller alone.
   */
  entitlements(
    caller: Requester,
    id: ApplicationId,
    action: ApplicationAction,
  ): Promise<Reply<{ readonly userId: UserId | null }>>;
}

interface AccessPorts {
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly teams: Pick<Teams, 'may'>;
}

export function createApplicationAccess({ applications, teams }: AccessPorts): ApplicationAccess {
  const isApplication = ({ applicationId }: Requester, id: ApplicationId): boolean => applicationId === id;
  const isUser = ({ kind, authorization }: Requester): boolean => kind === 'user' && authorization === null;

  const applicationRefusal: ApplicationAccess['applicationRefusal'] = (caller, id) =>
    isApplication(caller, id) ? null : refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION');

  return {
    applicationRefusal,
    userOrApplicationRefusal: (caller, id) => (isUser(caller) ? null : applicationRefusal(caller, id)),
    async open(caller, id, action) {
      const application = await applications.get(id);
      if (!application) return refused(refusal('UNKNOWN_APPLICATION'));
      const isAllowed =
        caller.authorization === null
          ? isApplication(caller, id) || (await teams.may(application, caller.userId, action))
          : isApplication(caller, id) && action === 'attach';
      return isAllowed
        ? { ok: true, value: application }
        : refused(refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION'));
    },
    async entitlements(caller, id, action) {
      const no = applicationRefusal(caller, id);
      if (no) return refused(no);
      if (caller.kind === 'bot') return { ok: true, value: { userId: null } };
      const application = await applications.get(id);
      const usesAll = application !== null && (await teams.may(application, caller.userId, action));
      return { ok: true, value: { userId: usesAll ? null : caller.userId } };
    },
  };
}
