//! Tests of saved drafts.

use super::*;

fn saved(tidings: &Tidings) -> Vec<SavedDraft> {
    tidings.call(&Caller::Operator, ListDrafts {}).unwrap().drafts
}

fn save(tidings: &Tidings, draft: Option<&str>, notice: Option<&str>, fields: &Draft) -> Result<String> {
    let (draft, notice, fields) = (draft.map(str::to_owned), notice.map(str::to_owned), fields.clone());
    Ok(tidings.call(&Caller::Operator, SaveDraft { draft, notice, fields })?.id.to_string())
}

fn publish(tidings: &Tidings, draft: &str) -> Result<String> {
    Ok(tidings.call(&Caller::Operator, PublishDraft { draft_obi: draft.into() })?.id.to_string())
}

fn discard(tidings: &Tidings, draft: &str) -> Result<()> {
    tidings.call(&Caller::Operator, RemoveDraft { draft_obi: draft.into() })
}

#[test]
fn a_draft_of_a_change_changes_only_its_fields() {
    let service = service();
    let notice = insert_as_operator(&service, &Draft { topic: Some("Sea".into()), ..draft("t", "p") });
    let change = Draft { title: Some("new".into()), topic: Some(String::new()), ..Draft::default() };
    let id = save(&service, None, Some(&notice), &change).unwrap();
    assert_eq!(saved(&service)[0].notice.unwrap().to_string(), notice);
    assert_eq!(publish(&service, &id).unwrap(), notice);
    let list = service.call(&Caller::Guest, ListFull::default()).unwrap();
    assert_eq!((&*list.notices()[0].title, &*list.notices()[0].post), ("new", "p"));
    // The draft of a notice that is removed stays, and cannot be published.
    let id = save(&service, None, Some(&notice), &change).unwrap();
    remove(&service, &Caller::Operator, &notice).unwrap();
    assert!(matches!(publish(&service, &id), Err(Error::NotFound)));
    assert_eq!(saved(&service).len(), 1);
    discard(&service, &id).unwrap();
    assert!(matches!(discard(&service, &id), Err(Error::NotFound)));
}

#[test]
fn invalid_drafts_are_refused_and_nothing_is_saved() {
    let service = service();
    let title = Draft { title: Some("t".into()), ..Draft::default() };
    for refused in
        [Draft::default(), activation(2), draft("", "p"), Draft { pinned: Some(2), ..title.clone() }]
    {
        assert!(matches!(save(&service, None, None, &refused), Err(Error::BadRequest(_))), "{refused:?}");
    }
    for unknown in ["65f0a0000000000000000000", "", "no id"] {
        assert!(matches!(save(&service, Some(unknown), None, &title), Err(Error::NotFound)), "{unknown}");
        assert!(matches!(save(&service, None, Some(unknown), &title), Err(Error::NotFound)), "{unknown}");
    }
    assert!(saved(&service).is_empty());
}

#[test]
fn there_are_at_most_200_drafts() {
    let service = service();
    let title = |n: usize| Draft { title: Some(n.to_string()), ..Draft::default() };
    let ids: Vec<_> = (0..DRAFTS_MAX).map(|n| save(&service, None, None, &title(n)).unwrap()).collect();
    assert!(matches!(save(&service, None, None, &title(200)), Err(Error::BadRequest(_))));
    save(&service, Some(&ids[0]), None, &title(201)).unwrap();
    discard(&service, &ids[1]).unwrap();
    save(&service, None, None, &title(202)).unwrap();
    assert_eq!(saved(&service).len(), DRAFTS_MAX);
}

#[test]
fn a_draft_is_saved_replaced_and_published_as_a_new_notice() {
    let service = service();
    let title = Draft { title: Some("t".into()), ..Draft::default() };
    let id = save(&service, None, None, &title).unwrap();
    let missing = publish(&service, &id);
    assert!(matches!(missing, Err(Error::BadRequest(problem)) if problem.field == Some("post")));
    service.clock().advance(1_000);
    let whole = Draft { pinned: Some(1), visible_until: Some("2026-12-24".into()), ..draft("t", "p") };
    assert_eq!(save(&service, Some(&id.to_uppercase()), None, &whole).unwrap(), id);
    let expected =
        SavedDraft { id: ObjectId::parse(&id).unwrap(), notice: None, date: NOW + 1_000, fields: whole };
    assert_eq!(saved(&service), [expected]);
    assert!(titles(&service, &Caller::Operator).is_empty());
    service.clock().advance(1_000);
    let notice = publish(&service, &id).unwrap();
    assert!(saved(&service).is_empty());
    let list = service.call(&Caller::Guest, ListFull::default()).unwrap();
    let published = &list.notices()[0];
    assert_eq!(
        (published.id.to_string(), published.date, published.placement.pinned),
        (notice, NOW + 2_000, Pin::Pinned)
    );
    assert!(matches!(publish(&service, &id), Err(Error::NotFound)));
}
