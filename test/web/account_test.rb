# frozen_string_literal: true
# suites: store

require_relative "web_case"

# The page over a real account: its numbers match the load, and its own reads do not count as hits.
class WebAccountTest < WebCase
  def test_figures_are_those_of_the_load
    with_stores do |store, name|
      load(store)
      app = page(store)
      %w[hour day].each do |period|
        figures = Tiercel::Web::Figures.new(store, period)
        assert_equal [60, 30, 30], [figures.hits, figures.misses, figures.blocks], "#{name}, #{period}"
      end
      body = get(app, "/").body
      assert body.include?("90 reads, 30 misses"), name
      assert_equal 30, sum_of_column(body, "reads", 2), name
      assert_equal 60, sum_of_column(body, "reads", 1), name
      assert body.include?("66.7 %"), name
    end
  end

  def test_figures_of_eight_processes
    with_tmpdir do |dir|
      { "shared" => ["shared:#{dir}/one?size=4MB"],
        "stack" => ["shared:#{dir}/near?size=4MB", "sqlite:#{dir}/behind.sqlite3"] }.each do |name, urls|
        store = Tiercel.new(*urls)
        fork_and_wait(8) { |index| load(Tiercel.new(*urls), "of_#{("a".."h").to_a[index]}") }
        figures = Tiercel::Web::Figures.new(store, "hour")
        assert_predicate figures, :machine?
        assert_equal [480, 240, 240], [figures.hits, figures.misses, figures.blocks], name
        assert get(page(store), "/").body.include?("720 reads, 240 misses"), name
      ensure
        store&.close
      end
    end
  end

  def test_look_ups_of_the_page_and_of_the_doctor_are_no_hits
    with_stores do |store, name|
      load(store)
      before = store.account.totals.slice(:hits, :misses, :blocks)
      app = page(store)
      %w[/ /classes /keys?prefix_key=views /key?name_key=views/1 /tags?prefix_key=p /tiers /servers].each do |path|
        assert_equal 200, get(app, path).status
        assert_equal before, store.account.totals.slice(:hits, :misses, :blocks), "#{name}, #{path}"
      end
      tiers = store.account.totals[:tiers].values
      assert tiers.all? { |tier| tier[:hits] >= 0 }, name
    end
  end

  def test_a_page_over_one_process_says_so_and_shows_its_first_minute
    load(@store)
    body = get(open_web, "/").body
    assert_includes body, "This process only: on memory: each process counts for itself."
    assert_match(/<polyline class="hit line single" /, body)
  end

  def test_metrics
    @store.fetch("views/1") { "x" }
    @store.read("views/1")
    answer = get(open_web, "/metrics")
    assert_equal [200, "text/plain; version=0.0.4; charset=utf-8"], [answer.status, answer["content-type"]]
    assert_match(/^tiercel_\w*hits_total(\{[^}]*\})? 1$/, answer.body)
    rails = Tiercel::Web.new(store: ActiveSupport::Cache::MemoryStore.new, protected_by: :routes)
    assert_equal 404, get(rails, "/metrics").status
  end

  def test_classes_by_the_cost_of_their_misses
    30.times { |index| @store.fetch("views/#{index}") { "x" } }
    body = get(open_web, "/classes").body
    assert_match(%r{<th scope="row"><code>views/\*</code></th>}, body)
  end

  private

  def load(store, name = "views")
    30.times { |index| store.fetch("#{name}/#{index}") { "x" * 10 } }
    60.times { |index| store.read("#{name}/#{index % 30}") }
  end

  # A page whose doctor has finished its examination.
  def page(store)
    Tiercel::Web.new(store:, protected_by: :routes).tap do |web|
      assert web.examination.report(web.given_stores, wait_seconds: 30)
    end
  end

  def with_stores
    with_tmpdir do |dir|
      { "memory" => ["memory:"], "shared" => ["shared:#{dir}/one?size=4MB"], "file" => ["file:#{dir}/files"],
        "sqlite" => ["sqlite:#{dir}/cache.sqlite3"],
        "stack" => ["shared:#{dir}/near?size=4MB", "sqlite:#{dir}/behind.sqlite3"] }.each do |name, urls|
        store = Tiercel.new(*urls, namespace: "shop")
        yield store, name
      ensure
        store&.close
      end
    end
  end

  def sum_of_column(body, id, column)
    body[%r{id="#{id}-twin">.*?</table>}m].scan(%r{<tr><th scope="row">.*?</tr>}m)
      .sum { |row| row.scan(%r{<td>(.*?)</td>}).flatten[column - 1].delete(",").to_i }
  end
end
