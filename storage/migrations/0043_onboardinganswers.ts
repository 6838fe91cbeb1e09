/** Answers of members in the onboarding of a guild. A row is deleted when its member leaves. */
export const onboardingAnswers = `
CREATE TABLE onboarding_answers (
  guild_id bigint NOT NULL,
  user_id bigint NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (guild_id, user_id)
);
CREATE INDEX onboarding_answers_user ON onboarding_answers (user_id);
`;
