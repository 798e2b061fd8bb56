# frozen_string_literal: true

require_relative "../support/lab_case"

class PagesTest < LabCase
  SUBJECT = Lab::Tables::Musts::Pages

  # 10 requests in each of 4 blocks, in each of 4 applications.
  def row(store, cpu_us, **more)
    blocks = (0...4).to_a.product((0...4).to_a).map do |process, block|
      [process, block, 0.1, (cpu_us.call(process) * 10_000).round, 0, *([4_000_000] * 10)]
    end
    { "store" => store, "path" => "/products", "status" => "measured", "reason" => nil, "blocks" => blocks, **more }
  end

  def judged(shared, **more)
    SUBJECT.new("/products").judged([row("memory_store", ->(_) { 2_000 }),
                                     row("tiercel:shared:", shared, **more),
                                     row("memory_store again", ->(_) { 2_020 })])
  end

  def test_the_interval_of_cpu_time_decides
    state, words = judged(->(process) { 1_600 + process })
    assert_equal :holds, state
    assert_match(/\ACPU time 0\.801 \[0\.80\d-0\.80\d\] of MemoryStore's; .* differs from itself by 1\.0 %/, words)
    assert_equal :fails, judged(->(process) { 2_100 + process }).first
    assert_equal :undecided, judged(->(process) { process.even? ? 1_900 : 2_100 }).first
  end

  def test_an_application_that_did_not_run_is_no_figure
    error = assert_raises(Lab::CannotRun) do
      judged(->(_) { 1_600 }, "status" => "cannot run", "reason" => "puma does not start")
    end
    assert_match(/tiercel:shared:.*puma does not start/, error.message)
  end

  def test_both_pages_are_targets
    pages = Lab::Tables::Musts::Targets.all.select { |target| target.id.start_with?("application-3") }
    assert_equal 2, pages.size
    assert_match(/50 fragments/, pages[0].text)
    assert_match(/10 fragments of 8 KB/, pages[1].text)
  end
end
