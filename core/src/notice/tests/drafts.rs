//! Tests of saved drafts.

use super::*;

fn saved(tidings: &Tidings) -> Vec<SavedDraft> {
    tidings.call(&Caller::Operator, ListDrafts {}).unwrap().drafts
}

fn save(tidings: &Tidings, draft: Option<&str>, notice: Option<&str>, fields: &Draft) -> Result<String> {
    Ok(tidings
        .call(
            &Caller::Operator,
            SaveDraft {
                draft: draft.map(str::to_owned),
                notice: notice.map(str::to_owned),
                fields: fields.clone(),
            },
        )?
        .id
        .to_string())
}

#[test]
fn a_draft_is_saved_replaced_and_published_as_a_new_notice() {
    let service = service();
    let ann = service.admin("ann");
    let title = Draft { title: Some("t".into()), ..Draft::default() };
    let id = service
        .call(&ann, SaveDraft { draft: None, notice: None, fields: title.clone() })
        .unwrap()
        .id
        .to_string();
    let missing = service.call(&ann, PublishDraft { draft_obi: id.clone() });
    assert!(matches!(missing, Err(Error::BadRequest(problem)) if problem.field == Some("post")));
    service.clock().advance(1_000);
    let whole = Draft { pinned: Some(1), visible_until: Some("2026-12-24".into()), ..draft("t", "p") };
    assert_eq!(save(&service, Some(&id.to_uppercase()), None, &whole).unwrap(), id);
    let expected =
        SavedDraft { id: ObjectId::parse(&id).unwrap(), notice: None, date: NOW + 1_000, fields: whole };
    assert_eq!(saved(&service), [expected]);
    assert!(titles(&service, &ann).is_empty());
    service.clock().advance(1_000);
    let notice = service.call(&ann, PublishDraft { draft_obi: id.clone() }).unwrap().id;
    assert!(saved(&service).is_empty());
    let list = service.call(&Caller::Guest, ListFull::default()).unwrap();
    let published = &list.notices()[0];
    assert_eq!(
        (published.id, published.date, published.placement.pinned),
        (notice, NOW + 2_000, Pin::Pinned)
    );
    assert!(matches!(service.call(&ann, PublishDraft { draft_obi: id.clone() }), Err(Error::NotFound)));
}

#[test]
fn a_draft_of_a_change_changes_only_its_fields() {
    let service = service();
    let notice = insert_as_operator(&service, &Draft { topic: Some("Sea".into()), ..draft("t", "p") });
    let change = Draft { title: Some("new".into()), topic: Some(String::new()), ..Draft::default() };
    let id = save(&service, None, Some(&notice), &change).unwrap();
    assert_eq!(saved(&service)[0].notice.unwrap().to_string(), notice);
    assert_eq!(
        service.call(&Caller::Operator, PublishDraft { draft_obi: id.clone() }).unwrap().id.to_string(),
        notice
    );
    let list = service.call(&Caller::Guest, ListFull::default()).unwrap();
    assert_eq!((&*list.notices()[0].title, &*list.notices()[0].post), ("new", "p"));
    // The draft of a notice that is removed stays, and cannot be published.
    let id = save(&service, None, Some(&notice), &change).unwrap();
    service.call(&Caller::Operator, Remove { notice_obi: notice.clone() }).unwrap();
    assert!(matches!(
        service.call(&Caller::Operator, PublishDraft { draft_obi: id.clone() }),
        Err(Error::NotFound)
    ));
    assert_eq!(saved(&service).len(), 1);
    service.call(&Caller::Operator, RemoveDraft { draft_obi: id.clone() }).unwrap();
    assert!(matches!(
        service.call(&Caller::Operator, RemoveDraft { draft_obi: id.clone() }),
        Err(Error::NotFound)
    ));
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
    service.call(&Caller::Operator, RemoveDraft { draft_obi: (&ids[1]).into() }).unwrap();
    save(&service, None, None, &title(202)).unwrap();
    assert_eq!(saved(&service).len(), DRAFTS_MAX);
}

#[test]
fn only_administrators_have_drafts() {
    let service = service();
    let id = save(&service, None, None, &draft("t", "p")).unwrap();
    let ben = service.member("ben");
    for caller in [&Caller::Guest, &Caller::token("forged"), &ben] {
        let refused = [
            service.call(caller, SaveDraft { draft: None, notice: None, fields: Draft::default() }).map(drop),
            service
                .call(caller, SaveDraft { draft: Some(id.clone()), notice: None, fields: draft("u", "q") })
                .map(drop),
            service.call(caller, ListDrafts {}).map(drop),
            service.call(caller, RemoveDraft { draft_obi: id.clone() }),
            service.call(caller, PublishDraft { draft_obi: id.clone() }).map(drop),
            service.call(caller, GetReads { notice_obi: id.clone(), days: Some(30) }).map(drop),
        ];
        for refused in refused {
            assert!(matches!(refused, Err(Error::BadToken | Error::Forbidden)), "{caller:?} {refused:?}");
        }
    }
    assert_eq!(saved(&service)[0].fields, draft("t", "p"));
}
