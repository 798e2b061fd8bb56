# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"
require "minitest/mock"
require "tiercel/insight"
require "tiercel/lab/servers"

# The base class of the doctor's tests: examines one store in a deployment that the test describes.
class DoctorCase < Tiercel::TestCase
  Deployment = Tiercel::Insight::Doctor::Deployment

  private

  # @param seconds [Float] how long a call takes; on a busy machine the real time would be a finding
  def examine(store, deployment: here, seconds: 0.0)
    Tiercel::Insight.stub(:median_seconds, ->(&call) { call.call.then { seconds } }) do
      Tiercel::Insight::Doctor.new({ "the cache" => store }, deployment:).examine
    end
  end

  # One process on one host, outside a container.
  def here(**options) = Deployment.new(**{ container: false, env: {}, mounts: "" }, **options)

  # @param files [Hash{String => String}] the application's files
  def deployed(files, **options)
    with_tmpdir do |root|
      files.each do |name, text|
        FileUtils.mkdir_p(File.dirname("#{root}/#{name}"))
        File.write("#{root}/#{name}", text)
      end
      yield here(root:, **options), root
    end
  end

  def assert_found(pattern, report)
    found = report.findings.select(&:finding?)
    assert found.any? { |finding| finding.text.match?(pattern) }, "expected #{pattern.inspect} in:\n#{report.to_text}"
    assert found.all?(&:fix), report.to_text
    assert_equal 1, report.exit_code
  end

  def assert_nothing_found(report)
    assert_predicate report, :sound?, report.to_text
    assert_equal 0, report.exit_code
    refute_empty report.findings
  end
end
