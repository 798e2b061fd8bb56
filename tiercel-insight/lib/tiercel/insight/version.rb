# frozen_string_literal: true

module Tiercel
  module Insight
    VERSION = "0.1.0"
  end
end
