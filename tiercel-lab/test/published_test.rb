# frozen_string_literal: true

require_relative "support/lab_case"

# The figures of the five articles, typed from them a second time.
class PublishedTest < LabCase
  ARTICLES = {
    "compressors" => [1_023_931, 577_629, 895_496, 587_085, 879_179, 878_160, 35.028, 35.899, 278.536, 3086.8, 1959.3,
                      1101.4],
    "serializers" => [62.984, 61.427, 61.546, 78.024, 114.629, 74.783, 76.329, 155.636],
    "latency" => [0.244702, 0.16, 0.05, 114.471950, 0.56, 0.19, 0.419922, 0.32, 0.03, 2.846208, 0.22, 0.04, 3.874526,
                  0.24, 1.862227, 0.23, 42.674231, 27.62, 6.11, 41.643664, 26.07, 5.10, 200.054559, 21.0, 3.75,
                  387.568663, 21.77, 4.63, 102, 480, 930],
    "sizes" => [0.52, 0.20, 0.17, 0.22, 16.85, 16.39, 15.91], "app" => [0.8],
    "client" => [333.52, 121.15, 2.75, 134.51, 121.82, 1.10],
    "sqlite" => [14_763, 15_194, 16_165, 12_169, 3_073, 3_008, 2_526, 2_826, 56_302, 53_077, 51_378, 25_658, 18_165,
                 17_861, 18_172, 12_674]
  }.freeze

  def numbers(part)
    case part
    when Hash then part.values.flat_map { |one| numbers(one) }
    when Array then part.flat_map { |one| numbers(one) }
    else [part].grep(Numeric)
    end
  end

  def test_every_figure_of_the_articles_is_kept
    ARTICLES.each { |table, figures| assert_empty figures - numbers(Lab::Published.of(table)), table }
    assert_equal 5 * 7, Lab::Published.of("capabilities").values.flatten.size
  end

  # `all --quick` measures each row of the second article at its place.
  def test_the_places_of_the_second_article_are_measured
    design = Lab::Tables::Latency::Design
    slots = design::QUICK.with(contestants: design::STORES.map { |text| Lab::Contestants.parse(text) }).slots
    measured = slots.map { |slot| [slot.contestant.name, slot.place] }
    assert_empty Lab::Published.of("latency").map { |row| row.last(2) } - measured
  end

  # `all --quick` measures each size of the fifth article, and the values of the third.
  def test_a_quick_run_has_the_values_of_the_articles
    settings = Lab::CLI::Settings.new.tap { |one| one.define_singleton_method(:quick) { true } }
    names = ->(table) { table.new(settings).plan.map { |comparison| comparison.value.name }.uniq }
    assert_empty Lab::Published.of("sqlite")["sizes"] - names.call(Lab::Tables::Sqlite::Table)
    assert_empty Lab::Published.of("sizes").keys - names.call(Lab::Tables::Sizes::Table)
    assert_includes names.call(Lab::Tables::Compressors::Table), Lab::Tables::Compressors::ARTICLE_VALUE
  end
end
