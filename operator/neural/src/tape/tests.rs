use super::*;

#[test]
fn shares_that_know_one_tag_give_the_loss_of_that_tag_and_others_its_differences() {
    let (width, tags) = (4, 3);
    let scores = [0.5, -1.0, 2.0, 0.0, 1.0, 0.25, -0.5, 0.0];
    let buffer = |scores: &[f32]| {
        let mut buffer = Buffer::zeros(scores.len());
        buffer.copy_from_slice(scores);
        buffer
    };
    let (mut hard, mut soft) = (buffer(&scores), buffer(&scores));
    let gold = softmax_loss(&mut hard, width, tags, &[2, 0]);
    let told = soft_loss(&mut soft, width, tags, &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert!((gold - told).abs() < 1e-9 && hard[..] == soft[..]);
    let shares = [0.2, 0.5, 0.3, 0.1, 0.1, 0.8];
    let mut gradient = buffer(&scores);
    soft_loss(&mut gradient, width, tags, &shares);
    for at in [0, 1, 2, 4, 5, 6] {
        let moved = |by: f32| {
            let mut scores = scores;
            scores[at] += by;
            soft_loss(&mut buffer(&scores), width, tags, &shares)
        };
        let difference = (moved(0.01) - moved(-0.01)) / 0.02;
        assert!((difference - f64::from(gradient[at])).abs() < 1e-3, "{at}");
    }
}
