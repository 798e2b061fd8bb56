# frozen_string_literal: true

require_relative "../../support/lab_case"

class LayersTest < LabCase
  def test_each_layer_is_a_row_with_words_and_a_time
    run_table(Lab::Tables::Layers::Table, "--backend", "memory:", "--value", "string-100b") do |code, command|
      assert_equal 0, code
      rows = command.results["cells"].select { |cell| %w[baseline contestant].include?(cell["role"]) }
      assert_equal 12, rows.size
      assert_equal ["measured"], rows.map { |cell| cell["status"] }.uniq
      assert_match(/A hit costs \S+ us, all of it: .* Rails' own methods alone \(\S+ us\)\./, command.out.string)
      assert_match(/^tiercel:memory: read_subscribed\s+a hit while somebody subscribes/, command.out.string)
    end
  end
end
