import type { Email } from './ports.ts';

const REGARDS = 'Replies to this address are not read.\n';

const compose = (to: string, subject: string, lines: readonly string[]): Email => ({
  to,
  subject,
  text: `${lines.join('\n\n')}\n\n${REGARDS}`,
});

/** Texts of the e-mails to account owners. `origin` is the base URL of the server; names match `[a-z0-9_.]`. */
export const emails = {
  confirm: (to: string, origin: string, name: string, ticket: string): Email =>
    compose(to, 'Confirm your e-mail address', [
      `Hello ${name},`,
      `please confirm that this address is yours:\n\n${origin}/verify-email?token=${ticket}`,
      'The link is good for 24 hours. If you have no account here, somebody has mistyped an address; then do nothing.',
    ]),

  /** Sent when somebody claims an address that already belongs to an account; the claimant gets no other answer. */
  alreadyYours: (to: string, origin: string, name: string): Email =>
    compose(to, 'You have an account already', [
      `Hello ${name},`,
      `somebody, probably you, has given this address for an account. It belongs to the account ${name} already.`,
      `Sign in: ${origin}/login\n\nA new password: ${origin}/reset`,
      'If it was not you, do nothing: the other person has not learned that this account exists.',
    ]),

  reset: (to: string, origin: string, name: string, ticket: string): Email =>
    compose(to, 'Choose a new password', [
      `Hello ${name},`,
      `here you choose a new password:\n\n${origin}/reset?token=${ticket}`,
      'The link is good for one hour and for one time. If you did not ask for it, do nothing; your password stays.',
    ]),

  passwordChanged: (to: string, origin: string, name: string): Email =>
    compose(to, 'Your password was changed', [
      `Hello ${name},`,
      'the password of your account was changed, and everything else that was signed in is signed out.',
      `If it was not you, choose another one at once: ${origin}/reset`,
    ]),

  emailChanged: (to: string, name: string, address: string): Email =>
    compose(to, 'Your e-mail address was changed', [
      `Hello ${name},`,
      `the address of your account is ${address} from now on.`,
      'If it was not you, tell the people who run this server.',
    ]),

  factorChanged: (to: string, origin: string, name: string, on: boolean): Email =>
    compose(to, on ? 'Two-step sign-in is on' : 'Two-step sign-in is off', [
      `Hello ${name},`,
      on
        ? 'signing in to your account now takes a code of your device too.'
        : 'signing in to your account takes your password only.',
      `If it was not you, choose a new password at once: ${origin}/reset`,
    ]),
};
