import { showsNothing } from '../../protocol/names.ts';
import { type ErrorTree, invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { nameObjection } from '../user/user.ts';
import { usernameObjection } from '../user/usernames.ts';

/** The fields of a sign-up form. */
export interface SignUp {
  readonly username: string;
  readonly email: string | null;
  readonly password: string;
  readonly globalName?: string | null;
}

/** @source RFC 5321, 4.5.3.1.3: a path of 256 octets, without its brackets */
const EMAIL_CHARACTERS_MAX = 254;
export const PASSWORD_BYTES = { min: 8, max: 1024 } as const;

/** One address without comments, quotes or address literals: the syntax that mail programs agree on. */
const EMAIL =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])$/;
const LOCAL_PART_MAX = 64;

/** Digits, grouped or not: telephone numbers, dates, PINs. */
const DIGITS = /^[\p{Nd}\s.,/_-]+$/u;
const DIGIT = /\p{Nd}/u;
/** Characters that people append to a password because a form requires them. */
const DECORATION = /[!?.,*#$@]+$/;

/** Keys of the login directory. A name has no `@`, so it never equals an address. */
export const nameLogin = (username: string): string => `name:${username.toLowerCase()}`;
export const mailLogin = (email: string): string => `mail:${email.toLowerCase()}`;

/** The key for a login as the user typed it. */
export function loginOf(typed: string): string {
  const text = typed.trim();
  return text.includes('@') ? mailLogin(text) : nameLogin(text);
}

export function isEmail(text: string): boolean {
  return text.length <= EMAIL_CHARACTERS_MAX && text.indexOf('@') <= LOCAL_PART_MAX && EMAIL.test(text);
}

export function emailObjection(email: string): Refusal | null {
  if (isEmail(email)) return null;
  return invalidField(['email'], 'EMAIL_TYPE_INVALID_EMAIL', 'This is not an e-mail address.');
}

/** The data that a new password is checked against. */
interface PasswordCheck {
  /** Passwords that attackers try first, in lower case. */
  readonly common: ReadonlySet<string>;
  /** Known texts of the account, such as its names. */
  readonly known?: readonly (string | null)[];
  /** The form field of the password. */
  readonly field?: string;
}

/** Length counts UTF-8 bytes, which are what the hash gets. */
export function passwordObjection(
  password: string,
  { common, known = [], field = 'password' }: PasswordCheck,
): Refusal | null {
  const wrong = (code: string, message: string) => invalidField([field], code, message);
  const bytes = utf8Bytes(password);
  if (bytes < PASSWORD_BYTES.min) return wrong('BASE_TYPE_MIN_LENGTH', 'Use 8 characters or more.');
  if (bytes > PASSWORD_BYTES.max) return wrong('BASE_TYPE_MAX_LENGTH', 'Use 1024 bytes or less.');
  if (showsNothing(password)) return wrong('PASSWORD_BLANK', 'Spaces alone are no password: use letters.');
  const isGrouped = DIGITS.test(password);
  if (isGrouped && DIGIT.test(password))
    return wrong('PASSWORD_ALL_DIGITS', 'Digits alone are quickly guessed: add letters.');
  const folded = password.normalize('NFKC').toLowerCase();
  const isCommon = common.has(folded) || common.has(folded.replace(DECORATION, ''));
  if (isGrouped || isCommon || /^(.)\1*$/su.test(folded))
    return wrong('PASSWORD_TOO_COMMON', 'This password is among the first that are guessed.');
  if (known.some((text) => text !== null && text.length > 3 && folded === text.toLowerCase()))
    return wrong('PASSWORD_TOO_COMMON', 'A name or address is not a password.');
  return null;
}

function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** An operator's data for a new account. Without a password, the owner sets one through an e-mail to the address. */
export interface Founding extends Omit<SignUp, 'password'> {
  readonly password: string | null;
}

/** Every objection to a sign-up, as one 50035; null without one. */
export function signUpObjection(
  { username, email, password, globalName }: Founding,
  common: ReadonlySet<string>,
): Refusal | null {
  const found = [
    usernameObjection(username),
    nameObjection(globalName, 'global_name'),
    email === null ? null : emailObjection(email),
    password === null ? null : passwordObjection(password, { common, known: [username, email, 'guildhall'] }),
  ].filter((objection) => objection !== null);
  if (found.length === 0) return null;
  const errors: ErrorTree = Object.assign({}, ...found.map((objection) => objection.errors));
  return { ...refusal('INVALID_FORM_BODY'), errors };
}
