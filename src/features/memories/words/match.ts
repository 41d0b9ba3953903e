import { Field, Float, ObjectType, registerEnumType } from "type-graphql";

export enum MatchKind {
  WORD = "word",
  PARTS = "parts",
  ABBREVIATION = "abbreviation",
  SPELLING = "spelling",
  BEGINNING = "beginning",
}
registerEnumType(MatchKind, {
  name: "MatchKind",
  description: "How a word of a query was understood.",
  valuesConfig: {
    WORD: { description: "As it is, in any form: `retry` and `retried`." },
    PARTS: { description: "By its parts, or as one: `userId` and `user`, `id`; `sign up` and `signup`." },
    ABBREVIATION: { description: "As another name of the same: `k8s` and `kubernetes`." },
    SPELLING: { description: "As a misspelt word: `bakoff` and `backoff`." },
    BEGINNING: { description: "As the beginning of a word: `kube` and `kubernetes`." },
  },
});

export enum MatchPlace {
  TITLE = "title",
  TAGS = "tags",
  TEXT = "text",
  TYPE = "type",
}
registerEnumType(MatchPlace, {
  name: "MatchPlace",
  description: "Where a memory has what was looked for.",
  valuesConfig: {
    TITLE: { description: "In its title." },
    TAGS: { description: "In a tag." },
    TEXT: { description: "In its summary or content." },
    TYPE: { description: "It is of the type that the word names: `decisions` and `decision`." },
  },
});

@ObjectType({ description: "A word of a query that a memory matches." })
export class SearchMatch {
  @Field(() => String, { description: "The word, as it was understood: in lower case and without accents." })
  word!: string;

  @Field(() => String, { description: "The words of the memory that it stands for, maybe without their endings." })
  matched!: string;

  @Field(() => MatchKind, { description: "How it was understood." })
  kind!: MatchKind;

  @Field(() => MatchPlace, { description: "The best of the places in which the memory has it." })
  place!: MatchPlace;

  @Field(() => Float, {
    description:
      "How much of the relevance it made, from 0 to 1: more for rare words, titles and exact matches. The relevance is " +
      "their sum, changed a little by the length of title and text, by importance, by words that stand side by side and by names as they are written, such as `c++` and `log in`.",
  })
  weight!: number;
}
