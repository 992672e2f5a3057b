"""Converts public data for tidings, and measures the recommended feed beside other models: see docs/newsfeeds.md.

usage: quality.py movielens ML_100K DIR        u.data and u.item to posts.jsonl, members.jsonl and acts.jsonl
       quality.py stackexchange DUMP DIR       Posts.xml, Comments.xml and Votes.xml of one site to the same files
       quality.py split DIR [DATE]             acts.jsonl to train.jsonl and test.jsonl: the last fifth of each member's
                                               acts is the test, or the acts from the date on
       quality.py ask DIR DATABASE             the feeds that a database serves to the members of the test
       quality.py score DIR                    the figures; needs numpy

Only `score` needs a package.
"""
import datetime as dt
import html
import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict

LISTED = 300  # posts of a served feed
FOLLOWED = 2  # acts that a member of the test has at least in the training data
REGULARISATION = (3, 10, 30, 100, 300, 1000)


def read(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(directory, name, rows):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{name}: {len(rows)} lines")


def write_all(directory, posts, acts):
    acts.sort(key=lambda act: (act["date"], act["id"], act["url"]))
    write(directory, "posts.jsonl", posts)
    write(directory, "members.jsonl", [{"id": member} for member in sorted({act["id"] for act in acts})])
    write(directory, "acts.jsonl", acts)


# MovieLens: films are posts with genres as topics, and ratings of four and five stars are likes.

GENRES = ("unknown Action Adventure Animation Children's Comedy Crime Documentary Drama Fantasy Film-Noir Horror Musical "
          "Mystery Romance Sci-Fi Thriller War Western").split()


def movielens(source, directory):
    posts = {}
    with open(os.path.join(source, "u.item"), encoding="latin-1") as file:
        for line in file:
            number, title, released, _, _, *flags = line.rstrip("\r\n").split("|")
            if not number.isdigit() or not released:
                continue  # a heading, or the one film without a title and a date
            date = dt.datetime.strptime(released, "%d-%b-%Y").strftime("%Y-%m-%d")
            topics = [genre for genre, flag in zip(GENRES, flags) if flag == "1"]
            url = f"https://movielens.example/{number}"
            posts[number] = {"title": title, "url": url, "topic": topics, "date": date}
    acts = []
    with open(os.path.join(source, "u.data"), encoding="ascii") as file:
        for line in file:
            member, number, stars, seconds = line.split("\t")
            if stars.isdigit() and int(stars) >= 4 and number in posts:
                date = dt.datetime.fromtimestamp(int(seconds), dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
                acts.append({"id": f"user{member}", "type": "like", "url": posts[number]["url"], "date": date})
    write_all(directory, list(posts.values()), acts)


# Stack Exchange: questions are posts with tags. Who answers a question or adds it to the favourites likes it, and who comments
# on it or on one of its answers views it. Own questions are no acts.

def rows(source, name):
    for _, element in ET.iterparse(os.path.join(source, name)):
        if element.tag == "row":
            yield element.attrib
        element.clear()


def text_of(body):
    body = re.sub(r"<pre.*?</pre>|<code>.*?</code>", " ", body, flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body))).strip()


def stackexchange(source, directory):
    questions, question_of, owners, done = {}, {}, {}, []
    for row in rows(source, "Posts.xml"):
        kind, number, owner = row["PostTypeId"], row["Id"], row.get("OwnerUserId")
        if kind == "1":
            tags = [tag for tag in re.split(r"[<>|]", row.get("Tags", "")) if tag]
            questions[number] = {"title": row["Title"][:200], "post": text_of(row["Body"])[:5000], "tag": tags,
                                 "url": f"https://stackexchange.example/{number}", "date": row["CreationDate"] + "Z"}
            question_of[number], owners[number] = number, owner
        elif kind == "2":
            question_of[number] = row["ParentId"]
            done.append((owner, number, "like", row["CreationDate"]))
    for row in rows(source, "Comments.xml"):
        done.append((row.get("UserId"), row["PostId"], "view", row["CreationDate"]))
    for row in rows(source, "Votes.xml"):
        if row["VoteTypeId"] == "5":  # a favourite: the only votes that name the member; they have a day and no time
            done.append((row.get("UserId"), row["PostId"], "like", row["CreationDate"]))
    acts = {}
    for member, post, kind, date in sorted(done, key=lambda act: act[3]):
        question = question_of.get(post)
        if member and question in questions and owners[question] != member:
            # Of several acts of a kind on a question, the first counts. An act cannot be earlier than the question.
            date = max(date + "Z", questions[question]["date"])
            acts.setdefault((member, question, kind), {
                "id": f"user{member}", "type": kind, "url": questions[question]["url"], "date": date})
    write_all(directory, list(questions.values()), list(acts.values()))


# Splits, the served feed, and the figures.

def split(directory, date=None):
    acts, published = read(directory, "acts.jsonl"), {p["url"]: p["date"] for p in read(directory, "posts.jsonl")}
    of_member = defaultdict(list)
    for act in acts:
        of_member[act["id"]].append(act)
    train, test = [], []
    for member, own in sorted(of_member.items()):
        at = [act["date"] < date for act in own].count(True) if date else len(own) - len(own) // 5
        before, after = own[:at], own[at:]
        train += before
        seen = {act["url"] for act in before}
        # With a date, only posts that existed can be found.
        relevant = {act["url"] for act in after if not date or published[act["url"]] < date} - seen
        if relevant and (date or len(before) >= FOLLOWED):
            test.append({"id": member, "relevant": sorted(relevant)})
    train.sort(key=lambda act: act["date"])
    write(directory, "train.jsonl", train)
    write(directory, "test.jsonl", test)


def ask(directory, database):
    rankings = []
    for member in read(directory, "test.jsonl"):
        command = ["tidings", "--db", database, "--as", member["id"], "--json", "feed", "recommended", "--limit", str(LISTED)]
        feed = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        rankings.append({"id": member["id"], "ranked": [post["url"] for post in feed["newsfeed"]]})
    write(directory, "recommended.jsonl", rankings)


def ndcg(ranked, relevant):
    gain = sum(1 / math.log2(place + 2) for place, url in enumerate(ranked[:10]) if url in relevant)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))


def recall(ranked, relevant):
    return len(set(ranked[:30]) & relevant) / len(relevant)


def ease(np, x, regularisation):
    """The item weights of EASE in closed form. Source: Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019."""
    inverse = np.linalg.inv(x.T @ x + regularisation * np.eye(x.shape[1]))
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0)
    return weights


def cosines(np, x):
    """The cosine of each pair of posts, as vectors of members."""
    norms = np.sqrt(np.maximum(x.sum(axis=0), 1))
    return (x.T @ x) / norms[:, None] / norms[None, :]


def matrix(np, members, posts, acts):
    x = np.zeros((len(members), len(posts)))
    for act in acts:
        if act["url"] in posts:
            x[members[act["id"]], posts[act["url"]]] = 1
    return x


def ranked_by(np, scores, x, urls):
    """The unseen posts with a score, the greatest first, ties in the order of `urls`."""
    order = np.argsort(-np.where(x > 0, -np.inf, scores), kind="stable")
    return [[urls[post] for post in row[:LISTED] if not x[member, post] and scores[member, post] > 0]
            for member, row in enumerate(order)]


def regularisation_for(np, members, posts, acts):
    """The best regularisation on the last fifth of each member's training acts."""
    of_member = defaultdict(list)
    for act in acts:
        of_member[act["id"]].append(act)
    fitted = [act for own in of_member.values() for act in own[:len(own) - len(own) // 5]]
    x, urls, gains = matrix(np, members, posts, fitted), list(posts), Counter()
    for candidate in REGULARISATION:
        ranked = ranked_by(np, x @ ease(np, x, candidate), x, urls)
        for member, own in of_member.items():
            new = {act["url"] for act in own[len(own) - len(own) // 5:]} - {act["url"] for act in own[:len(own) - len(own) // 5]}
            if new:
                gains[candidate] += ndcg(ranked[members[member]], new)
    return max(REGULARISATION, key=lambda candidate: gains[candidate])


def score(directory):
    import numpy as np
    dates = {post["url"]: post["date"] for post in read(directory, "posts.jsonl")}
    train, test = read(directory, "train.jsonl"), read(directory, "test.jsonl")
    everyone = sorted({row["id"] for row in train + test})
    members = {member: number for number, member in enumerate(everyone)}
    urls = sorted(dates, key=lambda url: dates[url], reverse=True)
    posts = {url: number for number, url in enumerate(urls)}
    x = matrix(np, members, posts, train)
    chosen = regularisation_for(np, members, posts, train)
    models = {
        "popular": ranked_by(np, np.tile(x.sum(axis=0), (len(members), 1)), x, urls),
        "item neighbours": ranked_by(np, x @ cosines(np, x), x, urls),
        f"EASE ({chosen})": ranked_by(np, x @ ease(np, x, chosen), x, urls),
    }
    of_members = {name: {member: lists[number] for member, number in members.items()} for name, lists in models.items()}
    if os.path.exists(os.path.join(directory, "recommended.jsonl")):
        served = {row["id"]: row["ranked"] for row in read(directory, "recommended.jsonl")}
        of_members = {"recommended": served, **of_members}
    relevant = {row["id"]: set(row["relevant"]) for row in test}
    figures = {name: np.array([[ndcg(ranked[m], relevant[m]), recall(ranked[m], relevant[m])] for m in relevant])
               for name, ranked in of_members.items()}
    root = math.sqrt(len(relevant))
    print(f"{len(relevant)} members, {len(urls)} posts, {len(train)} acts to learn from")
    print(f"{'ranking':16} ndcg@10    +/-  recall@30    +/-   lead    +/-")
    first = next(iter(figures.values()))
    for name, found in figures.items():
        (gain, share), (gain_error, share_error) = found.mean(axis=0), found.std(axis=0) / root
        lead = first[:, 0] - found[:, 0]
        print(f"{name:16} {gain:7.4f} {gain_error:6.4f}    {share:7.4f} {share_error:6.4f} {lead.mean():7.4f} {lead.std() / root:6.4f}")


if __name__ == "__main__":
    commands = {"movielens": movielens, "stackexchange": stackexchange, "split": split, "ask": ask, "score": score}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
