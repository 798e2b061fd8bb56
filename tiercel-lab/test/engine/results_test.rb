# frozen_string_literal: true

require_relative "../support/lab_case"

class ResultsTest < LabCase
  Results = Lab::Engine::Results

  def recorded
    Dir.mktmpdir do |folder|
      run = { "command" => "compare", "arguments" => ["--quick"], "seed" => 1, "protocol" => TINY.to_h,
              "started_at" => "2026-11-20T18:00:00Z" }
      path = File.join(folder, "deep", "run.jsonl")
      recorder = Lab::Engine::Recorder.new(path, run:,
                                       environment: Lab::Engine::Machine.describe.merge("pinning" => "not pinned"))
      comparison = compare("memory_store", "null_store")
      cells = comparison.arms.map { |arm| cell_of(comparison, arm, [[1_000, 1_001], [1_002, 1_004]]) }
      Lab::Engine::Summary.fill(cells, protocol: TINY)
      recorder.cells(cells)
      yield recorder, folder
    end
  end

  FACTS = { "workload" => { "string-100b" => "0a" }, "servers" => [],
            "disturbances" => [{ "value" => "string-100b", "process" => 0, "steal" => 0.0, "pressure" => nil }] }.freeze

  def test_lines_and_document_say_the_same_and_fit_the_schema
    recorded do |recorder, folder|
      recorder.table("marks", [{ "store" => "x", "mark" => "yes" }], footnote: "one")
      recorder.finish(FACTS, complete: true)
      recorder.export(File.join(folder, "run.json"))
      document = Results.load(File.join(folder, "run.json"))
      assert_equal document, Results.load(recorder.path)
      assert_empty SCHEMA.errors(document)
      assert document["complete"]
      assert_equal 4, document["cells"].first["slices"].size
      assert_equal 8, document["cells"].first["slices"].first.size
    end
  end

  def test_what_was_written_before_an_interruption_can_be_read
    recorded do |recorder, _folder|
      document = Results.load(recorder.path)
      refute document["complete"]
      assert_equal 3, document["cells"].size
      assert_empty SCHEMA.errors(document)
    end
  end

  # A limit of the file's size, as a full disk, cuts a line. The next record writes it again.
  def test_a_full_disk_loses_no_record_and_cuts_no_line
    before, most = Process.getrlimit(:FSIZE)
    signal = trap(:XFSZ, "IGNORE")
    recorded do |recorder, _folder|
      size = File.size(recorder.path)
      Process.setrlimit(:FSIZE, size + 10, most)
      recorder.table("marks", [{ "store" => "x" }])
      assert_equal [1, size, Errno::EFBIG], [recorder.unwritten.size, File.size(recorder.path), recorder.error.class]
      assert_equal [3, []], Results.load(recorder.path).values_at("cells", "tables").then { |c, t| [c.size, t] }
      Process.setrlimit(:FSIZE, before, most)
      recorder.finish(FACTS, complete: true)
      assert_equal recorder.document, Results.load(recorder.path)
    end
  ensure
    Process.setrlimit(:FSIZE, before, most)
    trap(:XFSZ, signal)
  end

  def test_a_run_whose_file_is_lost_prints_its_report_and_says_so
    table = Class.new(Lab::Tables::Capabilities::Table) do
      define_method(:take) do |_plan|
        run.start
        FileUtils.rm_rf(run.recorder.path)
        FileUtils.mkdir_p(run.recorder.path)
        run.table("capabilities", [{ "store" => "memory_store", "reason" => "none" }])
      end
    end
    table.called("capabilities", "Fails.")
    run_command(table) do |code, command|
      assert_equal 2, code
      assert_match(/^0 stores asked, 1 could not be/, command.out.string)
      assert_match(/jsonl was not written: Is a directory.*; 2 records of this run are missing$/, command.err.string)
    end
  end

  def test_a_killed_run_lacks_its_half_line_only
    path = File.join(dir, "run.jsonl")
    run = JSON.generate("type" => "run", "schema" => "tiercel-lab/1", "run" => { "command" => "cold" },
                        "environment" => {})
    table = JSON.generate("type" => "table", "table" => { "name" => "t", "rows" => [], "notes" => {} })
    File.write(path, "#{run}\n#{table}\n#{table[0, 20]}")
    assert_equal 1, Lab::Engine::Results.load(path)["tables"].size
    File.write(path, "#{run}\n#{table[0, 20]}\n#{table}\n")
    assert_raises(Lab::UsageError) { Lab::Engine::Results.load(path) }
  end
end
