# frozen_string_literal: true

require_relative "../support/lab_case"

# Results of earlier versions: files in `golden/` never change, new ones are only added.
class GoldenResultsTest < LabCase
  FILES = Dir[File.expand_path("../golden/results-*.json", __dir__)]

  def test_they_open_and_fit_the_schema_they_name
    refute_empty FILES
    FILES.each do |path|
      document = Lab::Engine::Results.load(path)
      schema = SCHEMA
      [document, *document.fetch("parts", []).filter_map { |part| part["results"] }].each do |one|
        assert_empty schema.errors(one), path
      end
    end
  end

  def test_they_are_rendered
    FILES.each do |path|
      out = StringIO.new
      assert_equal 0, Lab::CLI.run(["report", path, "--markdown"], out:, err: StringIO.new, program: "bin/lab")
      assert_match(/^\| null_store \| 1\.00/, out.string)
      refute_match(/report could not be made/, out.string)
    end
  end

  # An interruption leaves incomplete cells. The report shows the others.
  def test_what_an_interruption_leaves_is_rendered
    FILES.flat_map { |path| Lab::Engine::Results.load(path).fetch("parts") }.each do |part|
      results = part["results"] or next
      mute = results["cells"].map do |cell|
        cell.merge("summary" => cell["summary"]&.merge("ratio" => nil, "verdict" => nil, "floor" => nil))
      end
      lost = results["cells"].map { |cell| cell.merge("summary" => nil, "status" => "cannot run", "reason" => "gone") }
      [{ "cells" => [] }, { "tables" => [] }, { "cells" => [], "tables" => [] },
       { "cells" => results["cells"].first(1) }, { "cells" => mute }, { "cells" => lost }].each do |left|
        document = Lab::Tables.fetch(part["name"]).report(results.merge(left), command: "bin/lab #{part["name"]}")
        refute_empty Lab::Report::Markdown.render(document), part["name"]
      end
    end
  end

  # Generates values and plans of a load twice from the same seed.
  def test_the_same_seed_gives_the_same_workload
    Lab::Values.names.each do |name|
      value = Lab::Values.fetch(name)
      next if value.large?
      assert_equal value.digest(value.generate(7)), value.digest(value.generate(7)), name
    end
    changing = %w[string-1kb html-2kb].map { |name| Lab::Values.fetch(name) }
    changing.each { |value| refute_equal value.digest(value.generate(7)), value.digest(value.generate(8)), value.name }
  end
end
