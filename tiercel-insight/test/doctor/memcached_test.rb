# frozen_string_literal: true
# suites: insight

require_relative "doctor_case"

# The doctor examines a memcached.
class DoctorMemcachedTest < DoctorCase
  def test_values_above_the_limit
    Tiercel::Lab::Servers::Memcached.run do |server|
      store = Tiercel.new(server.url, compress: false, timeout: 20, error_handler: ->(**) {})
      assert_nothing_found examine(store)
      store.write("large", "x" * 2_000_000)
      report = examine(store)
      assert_found(/has refused 1 values above/, report)
      assert_match(/-I \(now 1 MB by default\)/, report.to_text)
    end
  end
end
